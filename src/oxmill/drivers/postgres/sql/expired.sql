-- Jobs of a queue whose expiry has passed before their first claim, the oldest first. Those that someone else is
-- busy with, or whose unique key someone is busy with, are left to them.
-- Parameters: queue, now, most.
-- Result: expires_at, then the columns of a standing.
SELECT
    j.expires_at,
    j.seq, j.id, j.queue, j.state, j.priority, j.place, j.due_at, j.enqueued_at,
    j.expires_at, j.attempt, j.nonce, j.failures, j.crashes, j.max_attempts, j.crash_limit,
    j.claimed_at, j.worker, j.reason, j.cancel_requested, j.last_outcome, j.keep, j.unique_key,
    j.extras, j.group_name
FROM oxmill.jobs AS j
WHERE
    j.expires_at IS NOT NULL
    AND j.attempt = 0
    AND j.state IN ('held', 'scheduled', 'waiting')
    AND j.queue = :queue::text
    AND j.expires_at <= :now::bigint
    AND (j.unique_key IS NULL OR oxmill.try_key(j.unique_key))
ORDER BY j.expires_at, j.seq
LIMIT :most::bigint
FOR UPDATE OF j SKIP LOCKED;
