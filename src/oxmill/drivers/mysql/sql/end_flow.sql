-- Flows have ended.
-- Parameters: ended_at, prune_at, failed, and the ids of those that end alike, in this order.
UPDATE oxmill_flows FORCE INDEX (oxmill_flows_id) SET
    ended_at = :ended_at, prune_at = :prune_at, failed = :failed
WHERE id IN (:id*);
