-- Ended jobs past their retention, the oldest first. Those that someone else is busy with are left
-- to them. One less than asked for is locked; if there are as many, one more tells so.
-- Parameters: now, most.
-- Result: the columns of a standing.
WITH mine AS MATERIALIZED (
    SELECT
        j.seq, j.id, j.queue, j.state, j.priority, j.place, j.due_at, j.enqueued_at,
        j.expires_at, j.attempt, j.nonce, j.failures, j.crashes, j.max_attempts, j.crash_limit,
        j.claimed_at, j.worker, j.reason, j.cancel_requested, j.last_outcome, j.keep, j.unique_key,
        j.extras, j.group_name
    FROM oxmill.jobs AS j
    WHERE j.prune_at <= :now::bigint
    ORDER BY j.prune_at
    LIMIT :most::bigint - 1
    FOR UPDATE SKIP LOCKED
)
SELECT
    mine.seq, mine.id, mine.queue, mine.state, mine.priority, mine.place, mine.due_at,
    mine.enqueued_at, mine.expires_at, mine.attempt, mine.nonce, mine.failures, mine.crashes,
    mine.max_attempts, mine.crash_limit, mine.claimed_at, mine.worker, mine.reason,
    mine.cancel_requested, mine.last_outcome, mine.keep, mine.unique_key, mine.extras,
    mine.group_name
FROM mine
UNION ALL
(
    SELECT
        j.seq, j.id, j.queue, j.state, j.priority, j.place, j.due_at, j.enqueued_at,
        j.expires_at, j.attempt, j.nonce, j.failures, j.crashes, j.max_attempts, j.crash_limit,
        j.claimed_at, j.worker, j.reason, j.cancel_requested, j.last_outcome, j.keep, j.unique_key,
        j.extras, j.group_name
    FROM oxmill.jobs AS j
    WHERE
        j.prune_at <= :now::bigint
        AND (SELECT count(*) FROM mine) = :most::bigint - 1
        AND j.seq NOT IN (SELECT mine.seq FROM mine)
    LIMIT 1
);
