-- The head of one queue's line, to be merged with those of other queues.
-- Parameters: queue, now, most.
-- Result: priority, place, seq, best rank first.
SELECT j.spot, j.place, j.seq
FROM oxmill_jobs AS j FORCE INDEX (oxmill_jobs_shelf)
WHERE
    j.shelf = CONCAT('waiting ', :queue)
    AND (j.expires_at IS NULL OR j.expires_at > :now OR j.attempt > 0)
ORDER BY j.spot, j.place
LIMIT :most;
