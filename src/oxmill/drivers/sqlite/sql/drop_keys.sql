-- Unique keys are free again.
-- Parameters: keys, a JSON array.
DELETE FROM unique_keys WHERE key IN (SELECT value FROM json_each(:keys));
