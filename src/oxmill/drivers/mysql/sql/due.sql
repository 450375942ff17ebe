-- Scheduled jobs of a queue that are due, in the order of their due times. Who reads them puts
-- those of one moment in the order of arrival.
-- Parameters: queue, now, most.
-- Result: due_at, seq, priority, group_name.
SELECT j.due_at, j.seq, j.priority, j.group_name
FROM oxmill_jobs AS j FORCE INDEX (oxmill_jobs_shelf)
WHERE j.shelf = CONCAT('scheduled ', :queue) AND j.spot <= :now
ORDER BY j.spot, j.place
LIMIT :most;
