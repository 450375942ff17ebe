-- Flows past their retention, the oldest first.
-- Parameters: now, most.
-- Result: id.
SELECT f.id
FROM oxmill_flows AS f FORCE INDEX (oxmill_flows_prune)
WHERE f.prune_at <= :now
ORDER BY f.prune_at, f.seq
LIMIT :most;
