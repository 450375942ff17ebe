-- Jobs of a queue whose lease has run out, the oldest first.
-- Parameters: queue, now, most.
-- Result: lease_until, then the columns of a standing.
SELECT
    j.lease_until,
    j.seq, j.id, j.queue, j.state, j.priority, j.place, j.due_at, j.enqueued_at,
    j.expires_at, j.attempt, j.nonce, j.failures, j.crashes, j.max_attempts, j.crash_limit,
    j.claimed_at, j.worker, j.reason, j.cancel_requested, j.last_outcome, j.keep, j.unique_key,
    j.extras, j.group_name
FROM jobs AS j INDEXED BY jobs_lease
WHERE j.state = 'running' AND j.queue = :queue AND j.lease_until <= :now
ORDER BY j.lease_until, j.seq
LIMIT :most;
