-- Lanes of a queue stand aside.
-- Parameters: queue; lanes, a JSON array of [group_name, priority, opens_at].
UPDATE lanes SET opens_at = json_extract(asked.value, '$[2]'), behind = NULL
FROM json_each(:lanes) AS asked
WHERE
    group_name = json_extract(asked.value, '$[0]')
    AND queue = :queue
    AND priority = json_extract(asked.value, '$[1]');
