-- Those of these jobs that somebody waits for now.
-- Parameters: ids, a JSON array.
-- Result: id.
SELECT asked.value
FROM JSON_TABLE(:ids, '$[*]' COLUMNS (value VARBINARY(200) PATH '$')) AS asked
WHERE EXISTS (
    SELECT 1
    FROM oxmill_edges AS e FORCE INDEX (oxmill_edges_below)
    STRAIGHT_JOIN oxmill_nodes AS n FORCE INDEX (PRIMARY) ON n.job = e.dependent
    WHERE e.upstream = asked.value AND e.ok IS NULL AND n.waiting = 1 AND n.`round` = e.`round`
);
