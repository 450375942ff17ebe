-- Rules that have ended by themselves go.
-- Parameters: now.
-- Result: target, scope, kind, one row per rule.
DELETE FROM rules WHERE expires_at <= :now RETURNING target, scope, kind;
