-- Lanes without jobs go.
-- Parameters: rows, a JSON array of [group_name, queue, priority].
DELETE FROM lanes
WHERE (group_name, queue, priority) IN (
    SELECT l.group_name, l.queue, l.priority
    FROM json_each(:rows) AS asked
    CROSS JOIN lanes AS l
        ON l.group_name = json_extract(asked.value, '$[0]')
        AND l.queue = json_extract(asked.value, '$[1]')
        AND l.priority = json_extract(asked.value, '$[2]')
);
