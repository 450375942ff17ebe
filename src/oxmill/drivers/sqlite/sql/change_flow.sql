-- Flows have so many more live jobs. What was lost counts until a flow has ended.
-- Parameters: rows, a JSON array of [delta, published, lost, id].
UPDATE flows SET
    live = live + json_extract(asked.value, '$[0]'),
    published = max(published, json_extract(asked.value, '$[1]')),
    lost = CASE
        WHEN ended_at IS NULL THEN max(lost, json_extract(asked.value, '$[2]'))
        ELSE lost
    END
FROM json_each(:rows) AS asked
WHERE flows.id = json_extract(asked.value, '$[3]');
