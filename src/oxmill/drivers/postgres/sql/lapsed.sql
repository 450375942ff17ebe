-- Jobs of a queue whose lease has run out, the oldest first. Those that someone else is
-- busy with, or whose unique key someone is busy with, are left to them.
-- Parameters: queue, now, most.
-- Result: lease_until, then the columns of a standing.
SELECT
    j.lease_until,
    j.seq, j.id, j.queue, j.state, j.priority, j.place, j.due_at, j.enqueued_at,
    j.expires_at, j.attempt, j.nonce, j.failures, j.crashes, j.max_attempts, j.crash_limit,
    j.claimed_at, j.worker, j.reason, j.cancel_requested, j.last_outcome, j.keep, j.unique_key,
    j.extras, j.group_name
FROM oxmill.jobs AS j
WHERE
    j.lease_until IS NOT NULL
    AND j.queue = :queue::text
    AND j.lease_until <= :now::bigint
    AND (j.unique_key IS NULL OR oxmill.try_key(j.unique_key))
ORDER BY j.lease_until, j.seq
LIMIT :most::bigint
FOR UPDATE OF j SKIP LOCKED;
