-- Those of these jobs that wait, through others, for a job.
-- Parameters: ids, a JSON array; job, an id.
-- Result: id.
WITH RECURSIVE chain (root, id) AS (
    SELECT asked.value, asked.value FROM json_each(:ids) AS asked
    UNION
    SELECT c.root, e.upstream
    FROM chain AS c
    CROSS JOIN nodes AS n ON n.id = c.id AND n.waiting = 1
    CROSS JOIN edges AS e ON e.dependent = n.job AND e.round = n.round AND e.ok IS NULL
)
SELECT DISTINCT c.root FROM chain AS c WHERE c.id = :job;
