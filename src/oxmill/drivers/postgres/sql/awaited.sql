-- Those of these jobs that somebody has an open edge to.
-- Parameters: ids, a JSON array.
-- Result: id.
SELECT asked.value
FROM json_array_elements_text(:ids::json) AS asked (value)
WHERE EXISTS (
    SELECT 1 FROM oxmill.edges AS e WHERE e.upstream = asked.value AND e.ok IS NULL
);
