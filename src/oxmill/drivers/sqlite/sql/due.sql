-- Scheduled jobs of a queue that are due, in the order of their due times.
-- Parameters: queue, now, most.
-- Result: due_at, seq, priority, group_name.
SELECT due_at, seq, priority, group_name
FROM jobs INDEXED BY jobs_due
WHERE state = 'scheduled' AND queue = :queue AND due_at <= :now
ORDER BY due_at, seq
LIMIT :most;
