-- Rules that have ended by themselves.
-- Parameters: now.
-- Result: target, scope, kind, one row per rule.
SELECT target, scope, kind FROM oxmill_rules WHERE expires_at <= :now FOR UPDATE;
