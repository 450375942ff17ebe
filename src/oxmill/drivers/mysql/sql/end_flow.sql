-- A flow has ended.
-- Parameters: ended_at, prune_at, failed, id, in this order.
UPDATE oxmill_flows SET ended_at = :ended_at, prune_at = :prune_at, failed = :failed
WHERE id = :id;
