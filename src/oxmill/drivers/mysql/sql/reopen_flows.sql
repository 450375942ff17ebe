-- Flows that had ended go on.
-- Parameters: ids, a JSON array.
UPDATE oxmill_flows SET ended_at = NULL, prune_at = NULL, failed = 0
WHERE id IN (:ids*) AND ended_at IS NOT NULL;
