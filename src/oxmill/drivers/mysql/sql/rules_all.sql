-- All rules, also those that have ended but were not swept yet.
-- Result: target, scope, kind, reason, author, expires_at, rate, set_at.
SELECT target, scope, kind, reason, author, expires_at, rate, set_at
FROM oxmill_rules
ORDER BY target, kind, scope;
