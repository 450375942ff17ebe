-- Ended jobs past their retention, the oldest first. Those that someone else is busy with are left
-- to them. One less than asked for is locked; if there are as many, one more tells so.
-- Parameters: now, most.
-- Result: the columns of a standing.
WITH mine AS MATERIALIZED (
    SELECT
        j.seq, j.id, j.queue, j.state, j.priority, j.place, j.due_at, j.enqueued_at,
        j.expires_at, j.attempt, j.nonce, j.failures, j.crashes, j.max_attempts, j.crash_limit,
        j.claimed_at, j.worker, j.reason, j.cancel_requested, j.last_outcome, j.keep, j.unique_key,
        j.extras
    FROM oxmill.jobs AS j
    WHERE j.prune_at <= :now::bigint
    ORDER BY j.prune_at
    LIMIT :most::bigint - 1
    FOR UPDATE SKIP LOCKED
)
SELECT * FROM mine
UNION ALL
(
    SELECT
        j.seq, j.id, j.queue, j.state, j.priority, j.place, j.due_at, j.enqueued_at,
        j.expires_at, j.attempt, j.nonce, j.failures, j.crashes, j.max_attempts, j.crash_limit,
        j.claimed_at, j.worker, j.reason, j.cancel_requested, j.last_outcome, j.keep, j.unique_key,
        j.extras
    FROM oxmill.jobs AS j
    WHERE
        j.prune_at <= :now::bigint
        AND (SELECT count(*) FROM mine) = :most::bigint - 1
        AND j.seq NOT IN (SELECT mine.seq FROM mine)
    LIMIT 1
);
