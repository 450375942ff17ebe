-- Rules that have ended by themselves go.
-- Parameters: now.
-- Result: target, one row per rule.
DELETE FROM oxmill.rules WHERE expires_at <= :now::bigint RETURNING target;
