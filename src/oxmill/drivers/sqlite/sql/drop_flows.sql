-- Flows go; this is about their rows in `flows`.
-- Parameters: ids, a JSON array.
DELETE FROM flows WHERE id IN (SELECT value FROM json_each(:ids));
