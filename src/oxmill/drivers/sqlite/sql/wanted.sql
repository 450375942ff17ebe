-- Those of these jobs that somebody waits for now.
-- Parameters: ids, a JSON array.
-- Result: id.
SELECT asked.value
FROM json_each(:ids) AS asked
WHERE EXISTS (
    SELECT 1
    FROM edges AS e INDEXED BY edges_open
    CROSS JOIN nodes AS n ON n.job = e.dependent
    WHERE e.upstream = asked.value AND e.ok IS NULL AND n.waiting = 1 AND n.round = e.round
);
