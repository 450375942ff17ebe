-- Stages go.
-- Parameters: names, a JSON array.
DELETE FROM stages WHERE name IN (SELECT value FROM json_each(:names));
