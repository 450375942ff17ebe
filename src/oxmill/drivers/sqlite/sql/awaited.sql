-- Those of these jobs that somebody has an open edge to.
-- Parameters: ids, a JSON array.
-- Result: id.
SELECT asked.value
FROM json_each(:ids) AS asked
WHERE EXISTS (
    SELECT 1 FROM edges AS e INDEXED BY edges_open
    WHERE e.upstream = asked.value AND e.ok IS NULL
);
