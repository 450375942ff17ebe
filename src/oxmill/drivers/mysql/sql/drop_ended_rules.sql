-- Rules that have ended by themselves go.
-- Parameters: now.
DELETE FROM oxmill_rules WHERE expires_at <= :now;
