-- Flows go; this is about their rows in `flow_state`.
-- Parameters: ids, a JSON array.
DELETE FROM flow_state WHERE flow IN (SELECT value FROM json_each(:ids));
