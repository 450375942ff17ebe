-- Scheduled jobs of a queue that are due, in the order of their due times. Those that someone else
-- is busy with are left to them.
-- Parameters: queue, now, most.
-- Result: due_at, seq, priority, group_name.
SELECT j.due_at, j.seq, j.priority, j.group_name
FROM oxmill.jobs AS j
WHERE j.state = 'scheduled' AND j.queue = :queue::text AND j.due_at <= :now::bigint
ORDER BY j.due_at, j.seq
LIMIT :most::bigint
FOR UPDATE SKIP LOCKED;
