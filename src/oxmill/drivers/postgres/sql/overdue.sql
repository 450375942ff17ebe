-- Jobs whose join has waited for too long, the longest overdue first.
-- Parameters: now, most.
-- Result: id.
SELECT n.id
FROM oxmill.nodes AS n
WHERE n.deadline_at <= :now::bigint AND n.waiting = 1 AND n.staged = 0
ORDER BY n.deadline_at, n.job
LIMIT :most::bigint;
