-- Rules that have ended by themselves go.
-- Parameters: now.
-- Result: target, scope, kind, one row per rule.
DELETE FROM oxmill.rules WHERE expires_at <= :now::bigint RETURNING target, scope, kind;
