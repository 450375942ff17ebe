-- The worst priority in the plain line of a queue.
-- Parameters: queue.
-- Result: priority.
SELECT j.spot
FROM oxmill_jobs AS j FORCE INDEX (oxmill_jobs_shelf)
WHERE j.shelf = CONCAT('waiting ', :queue)
ORDER BY j.spot DESC, j.place DESC
LIMIT 1;
