-- Those of these flows that were never published and of which no stage is left.
-- Parameters: ids, a JSON array.
-- Result: id.
SELECT f.id
FROM json_array_elements_text(:ids::json) AS asked (value)
JOIN oxmill.flows AS f ON f.id = asked.value
WHERE f.published = 0 AND NOT EXISTS (SELECT 1 FROM oxmill.stages AS s WHERE s.flow = f.id);
