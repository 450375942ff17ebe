-- For one queue: whether it has lanes of groups, the earliest moment at which one of its closed lanes is to
-- be looked at, and the earliest for a gate with jobs set aside behind it. The queue is written out: only
-- then the first closed lane is found without a look at all that are open.
-- Parameters: queue.
-- Result: queue, grouped, parked_at, aside_at.
SELECT
    :queue,
    EXISTS (
        SELECT 1 FROM oxmill_lanes AS l FORCE INDEX (oxmill_lanes_next)
        WHERE l.queue = :queue AND l.group_name <> ''
    ),
    (
        SELECT MIN(p.opens_at) FROM oxmill_lanes AS p FORCE INDEX (oxmill_lanes_next)
        WHERE p.queue = :queue AND p.opens_at > 0
    ),
    (
        SELECT a.opens_at FROM oxmill_asides AS a FORCE INDEX (oxmill_asides_open)
        WHERE
            a.queue = :queue
            AND EXISTS (
                SELECT 1 FROM oxmill_jobs AS j FORCE INDEX (oxmill_jobs_shelf)
                WHERE j.shelf = CONCAT('aside ', a.queue, X'00', a.gate)
            )
        ORDER BY a.opens_at LIMIT 1
    );
