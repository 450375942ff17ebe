-- What these meters read, as far as they are there.
-- Parameters: keys, a JSON array of [queue, scope, target].
-- Result: queue, scope, target, tat, closed_until.
SELECT m.queue, m.scope, m.target, m.tat, m.closed_until
FROM json_each(:keys) AS asked
CROSS JOIN meters AS m
    ON m.queue = json_extract(asked.value, '$[0]')
    AND m.scope = json_extract(asked.value, '$[1]')
    AND m.target = json_extract(asked.value, '$[2]');
