-- Rules that have ended by themselves.
-- Parameters: now.
-- Result: target, one row per rule.
SELECT target FROM oxmill_rules WHERE expires_at <= :now FOR UPDATE;
