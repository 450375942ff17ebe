-- Ended jobs past their retention, the oldest first.
-- Parameters: now, most.
-- Result: the columns of a standing.
SELECT
    j.seq, j.id, j.queue, j.state, j.priority, j.place, j.due_at, j.enqueued_at,
    j.expires_at, j.attempt, j.nonce, j.failures, j.crashes, j.max_attempts, j.crash_limit,
    j.claimed_at, j.worker, j.reason, j.cancel_requested, j.last_outcome, j.keep, j.unique_key,
    j.extras, j.group_name
FROM jobs AS j INDEXED BY jobs_prune
WHERE j.prune_at <= :now
ORDER BY j.prune_at
LIMIT :most;
