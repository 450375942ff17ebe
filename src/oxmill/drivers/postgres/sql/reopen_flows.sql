-- Flows that had ended go on.
-- Parameters: ids, a JSON array.
UPDATE oxmill.flows AS f SET ended_at = NULL, prune_at = NULL, failed = 0
FROM json_array_elements_text(:ids::json) AS asked (value)
WHERE f.id = asked.value AND f.ended_at IS NOT NULL;
