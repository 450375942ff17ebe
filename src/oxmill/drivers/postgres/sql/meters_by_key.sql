-- What these meters read, as far as they are there.
-- Parameters: keys, a JSON array of [queue, scope, target].
-- Result: queue, scope, target, tat, closed_until.
SELECT m.queue, m.scope, m.target, m.tat, m.closed_until
FROM json_array_elements(:keys::json) AS asked (value)
JOIN oxmill.meters AS m
    ON m.queue = asked.value ->> 0 AND m.scope = asked.value ->> 1 AND m.target = asked.value ->> 2;
