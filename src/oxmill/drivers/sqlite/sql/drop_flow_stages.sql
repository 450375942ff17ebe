-- Flows go; this is about their rows in `stages`.
-- Parameters: ids, a JSON array.
DELETE FROM stages WHERE flow IN (SELECT value FROM json_each(:ids));
