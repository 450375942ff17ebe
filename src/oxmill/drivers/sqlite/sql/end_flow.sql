-- Flows have ended.
-- Parameters: rows, a JSON array of [ended_at, prune_at, failed, id].
UPDATE flows SET
    ended_at = json_extract(asked.value, '$[0]'),
    prune_at = json_extract(asked.value, '$[1]'),
    failed = json_extract(asked.value, '$[2]')
FROM json_each(:rows) AS asked
WHERE flows.id = json_extract(asked.value, '$[3]');
