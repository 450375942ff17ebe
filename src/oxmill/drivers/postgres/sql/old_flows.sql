-- Flows past their retention, the oldest first. Those that someone else is busy with are left.
-- Parameters: now, most.
-- Result: id.
SELECT f.id
FROM oxmill.flows AS f
WHERE f.prune_at <= :now::bigint
ORDER BY f.prune_at, f.seq
LIMIT :most::bigint
FOR UPDATE OF f SKIP LOCKED;
