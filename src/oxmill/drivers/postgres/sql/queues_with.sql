-- The queues that have jobs in this state, found by leaps through the index of that state.
-- Parameters: state, one of waiting, scheduled, running, held.
-- Result: queue.
WITH RECURSIVE leap (queue) AS (
    (
        SELECT oxmill.next_queue(:state::text, NULL)
    )
    UNION ALL
    SELECT oxmill.next_queue(:state::text, leap.queue) FROM leap WHERE leap.queue IS NOT NULL
)
SELECT queue FROM leap WHERE queue IS NOT NULL;
