-- Jobs whose join has waited for too long, the longest overdue first.
-- Parameters: now, most.
-- Result: id.
SELECT n.id
FROM nodes AS n INDEXED BY nodes_deadline
WHERE n.deadline_at <= :now AND n.waiting = 1 AND n.staged = 0
ORDER BY n.deadline_at, n.job
LIMIT :most;
