-- The jobs just granted.
-- Parameters: shelves, a JSON array; nonce, worker, lease.
-- Result: the columns of a lease, then the place in line.
SELECT
    j.seq, j.id, j.queue, j.task, j.payload, j.attempt - 1, j.priority, j.failures, j.crashes,
    j.max_attempts, j.enqueued_at, j.group_name, j.extras, j.progress, j.unique_key,
    j.place
FROM oxmill_jobs AS j FORCE INDEX (oxmill_jobs_shelf)
WHERE
    @oxmill_many > 0
    AND j.shelf IN (:shelves*)
    AND j.spot = @oxmill_now + :lease
    AND j.nonce = :nonce
    AND j.worker = :worker
    AND j.claimed_at = @oxmill_now;
