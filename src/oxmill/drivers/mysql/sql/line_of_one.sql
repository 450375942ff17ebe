-- The head of one queue's line: the jobs that a claim may grant now, best rank first.
-- Parameters: queue, now, most.
-- Result: the columns of a lease.
SELECT
    j.seq, j.id, j.queue, j.task, j.payload, j.attempt, j.priority, j.failures, j.crashes,
    j.max_attempts, j.enqueued_at, j.group_name, j.extras, j.progress, j.unique_key
FROM oxmill_jobs AS j FORCE INDEX (oxmill_jobs_shelf)
WHERE
    j.shelf = CONCAT('waiting ', :queue)
    AND (j.expires_at IS NULL OR j.expires_at > :now OR j.attempt > 0)
ORDER BY j.spot, j.place
LIMIT :most;
