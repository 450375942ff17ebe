-- Flows go; this is about their rows in `flow_fields`.
-- Parameters: ids, a JSON array.
DELETE FROM flow_fields WHERE flow IN (SELECT value FROM json_each(:ids));
