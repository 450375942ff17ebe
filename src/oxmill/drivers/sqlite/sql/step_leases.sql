-- Running jobs that may take steps in their flows, all of them as one JSON array.
-- Parameters: ids, a JSON array.
-- Result: id, seq, queue, attempt, nonce, keep, extras, group_name, limits of its queue or NULL.
SELECT json_group_array(
    json_array(
        j.id, j.seq, j.queue, j.attempt, j.nonce, j.keep, j.extras, j.group_name,
        (SELECT s.limits FROM queue_settings AS s WHERE s.queue = j.queue)
    )
)
FROM json_each(:ids) AS asked
CROSS JOIN jobs AS j ON j.id = asked.value
WHERE j.state = 'running' AND j.unique_key IS NULL;
