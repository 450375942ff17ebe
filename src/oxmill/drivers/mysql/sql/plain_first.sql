-- The first job of the plain line of a queue whose priority is worse than one given.
-- Parameters: queue, after.
-- Result: priority, place.
SELECT j.spot, j.place
FROM oxmill_jobs AS j FORCE INDEX (oxmill_jobs_shelf)
WHERE j.shelf = CONCAT('waiting ', :queue) AND j.spot > :after
ORDER BY j.spot, j.place
LIMIT 1;
