-- Waiting jobs of groups have their lanes, or the next claim will make them, with the place given as the
-- first turn. A lane that is there is kept from being dropped before this transaction has ended; if
-- it cannot be, or if it stands behind the gate of its head, the next claim is told.
CREATE OR REPLACE FUNCTION oxmill.join_lanes(
    groups text[], queues text[], priorities integer[], places bigint[]
) RETURNS void
LANGUAGE plpgsql VOLATILE
SET jit = off
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
BEGIN
    WITH kept AS MATERIALIZED (
        SELECT l.group_name, l.queue, l.priority
        FROM unnest(groups, queues, priorities) AS a (group_name, queue, priority)
        JOIN oxmill.lanes AS l
            ON l.group_name = a.group_name AND l.queue = a.queue AND l.priority = a.priority
        WHERE l.behind IS NULL
        FOR KEY SHARE OF l SKIP LOCKED
    )
    INSERT INTO oxmill.lane_news (group_name, queue, priority, place)
    SELECT a.group_name, a.queue, a.priority, a.place
    FROM unnest(groups, queues, priorities, places) WITH ORDINALITY
        AS a (group_name, queue, priority, place, number)
    WHERE NOT EXISTS (
        SELECT 1 FROM kept AS k
        WHERE k.group_name = a.group_name AND k.queue = a.queue AND k.priority = a.priority
    )
    ORDER BY a.number;
END
$$;
