-- One rule, as it stands.
-- Parameters: target, scope, kind.
-- Result: target, scope, kind, reason, author, expires_at, rate, set_at.
SELECT target, scope, kind, reason, author, expires_at, rate, set_at
FROM oxmill_rules
WHERE target = :target AND scope = :scope AND kind = :kind;
