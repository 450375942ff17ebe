-- Flows past their retention, the oldest first.
-- Parameters: now, most.
-- Result: id.
SELECT f.id
FROM flows AS f INDEXED BY flows_prune
WHERE f.prune_at <= :now
ORDER BY f.prune_at, f.seq
LIMIT :most;
