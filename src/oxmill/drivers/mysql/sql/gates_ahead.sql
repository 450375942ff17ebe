-- For each queue asked about: whether it has lanes of groups, the earliest moment at which one of its
-- closed lanes is to be looked at, and the earliest for a gate with jobs set aside behind it.
-- Parameters: queues, a JSON array.
-- Result: queue, grouped, parked_at, aside_at.
SELECT
    asked.value,
    EXISTS (
        SELECT 1 FROM oxmill_lanes AS l FORCE INDEX (oxmill_lanes_next)
        WHERE l.queue = asked.value AND l.group_name <> ''
    ),
    (
        SELECT MIN(p.opens_at) FROM oxmill_lanes AS p FORCE INDEX (oxmill_lanes_next)
        WHERE p.queue = asked.value AND p.opens_at > 0
    ),
    (
        SELECT a.opens_at FROM oxmill_asides AS a FORCE INDEX (oxmill_asides_open)
        WHERE
            a.queue = asked.value
            AND EXISTS (
                SELECT 1 FROM oxmill_jobs AS j FORCE INDEX (oxmill_jobs_shelf)
                WHERE j.shelf = CONCAT('aside ', a.queue, X'00', a.gate)
            )
        ORDER BY a.opens_at LIMIT 1
    )
FROM JSON_TABLE(:queues, '$[*]' COLUMNS (value VARBINARY(200) PATH '$')) AS asked;
