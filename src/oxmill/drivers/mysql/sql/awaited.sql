-- Those of these jobs that somebody has an open edge to.
-- Parameters: ids, a JSON array.
-- Result: id.
SELECT asked.value
FROM JSON_TABLE(:ids, '$[*]' COLUMNS (value VARBINARY(200) PATH '$')) AS asked
WHERE EXISTS (
    SELECT 1 FROM oxmill_edges AS e FORCE INDEX (oxmill_edges_below)
    WHERE e.upstream = asked.value AND e.ok IS NULL
);
