-- The head of one queue's line: the jobs that a claim may grant now, best rank first.
-- Parameters: queue, now, most.
-- Result: the columns of a lease.
SELECT
    seq, id, queue, task, payload, attempt, priority, failures, crashes, max_attempts,
    enqueued_at, group_name, extras, progress, unique_key
FROM jobs INDEXED BY jobs_claim
WHERE
    state = 'waiting'
    AND group_name IS NULL
    AND aside IS NULL
    AND queue = :queue
    AND (expires_at IS NULL OR expires_at > :now OR attempt > 0)
ORDER BY priority, place
LIMIT :most;
