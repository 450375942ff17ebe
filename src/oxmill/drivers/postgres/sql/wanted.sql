-- Those of these jobs that somebody waits for now.
-- Parameters: ids, a JSON array.
-- Result: id.
SELECT asked.value
FROM json_array_elements_text(:ids::json) AS asked (value)
WHERE EXISTS (
    SELECT 1
    FROM oxmill.edges AS e
    JOIN oxmill.nodes AS n ON n.job = e.dependent
    WHERE e.upstream = asked.value AND e.ok IS NULL AND n.waiting = 1 AND n.round = e.round
);
