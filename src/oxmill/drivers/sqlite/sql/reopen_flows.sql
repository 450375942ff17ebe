-- Flows that had ended go on.
-- Parameters: ids, a JSON array.
UPDATE flows SET ended_at = NULL, prune_at = NULL, failed = 0
WHERE id IN (SELECT value FROM json_each(:ids)) AND ended_at IS NOT NULL;
