-- What is set aside behind these gates is looked at by the next claim.
-- Parameters: gates, a JSON array.
UPDATE asides SET opens_at = 0 WHERE gate IN (SELECT value FROM json_each(:gates));
