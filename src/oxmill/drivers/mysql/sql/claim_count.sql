-- Counts the jobs just granted, of several queues.
-- Parameters: shelves, a JSON array; nonce, lease.
INSERT INTO oxmill_changes (queue, waiting, running)
SELECT j.queue, -COUNT(*), COUNT(*)
FROM oxmill_jobs AS j FORCE INDEX (oxmill_jobs_shelf)
WHERE
    @oxmill_many > 0
    AND j.shelf IN (:shelves*)
    AND j.spot = @oxmill_now + :lease
    AND j.nonce = :nonce
GROUP BY j.queue;
