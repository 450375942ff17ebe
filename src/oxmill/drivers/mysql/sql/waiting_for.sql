-- Those of these jobs that wait, through others, for a job.
-- Parameters: ids, a JSON array; job, an id.
-- Result: id.
SELECT DISTINCT found.root
FROM (
    WITH RECURSIVE chain (root, id) AS (
        SELECT asked.value, asked.value
        FROM JSON_TABLE(:ids, '$[*]' COLUMNS (value VARBINARY(200) PATH '$')) AS asked
        UNION
        SELECT c.root, e.upstream
        FROM chain AS c
        JOIN oxmill_nodes AS n ON n.id = c.id AND n.waiting = 1
        JOIN oxmill_edges AS e ON e.dependent = n.job AND e.`round` = n.`round` AND e.ok IS NULL
    )
    SELECT c.root, c.id FROM chain AS c
) AS found
WHERE found.id = :job;
