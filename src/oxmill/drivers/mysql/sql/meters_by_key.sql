-- What these meters read, as far as they are there.
-- Parameters: keys, a JSON array of [queue, scope, target].
-- Result: queue, scope, target, tat, closed_until.
SELECT m.queue, m.scope, m.target, m.tat, m.closed_until
FROM JSON_TABLE(
    :keys,
    '$[*]' COLUMNS (
        queue VARBINARY(200) PATH '$[0]', scope VARBINARY(20) PATH '$[1]',
        target VARBINARY(200) PATH '$[2]'
    )
) AS asked
STRAIGHT_JOIN oxmill_meters AS m FORCE INDEX (PRIMARY)
    ON m.queue = asked.queue AND m.scope = asked.scope AND m.target = asked.target;
