-- Those of these jobs that wait, through others, for a job.
-- Parameters: ids, a JSON array; job, an id.
-- Result: id.
WITH RECURSIVE chain (root, id) AS (
    SELECT asked.value COLLATE "C", asked.value COLLATE "C"
    FROM json_array_elements_text(:ids::json) AS asked (value)
    UNION
    SELECT c.root, e.upstream
    FROM chain AS c
    JOIN oxmill.nodes AS n ON n.id = c.id AND n.waiting = 1
    JOIN oxmill.edges AS e ON e.dependent = n.job AND e.round = n.round AND e.ok IS NULL
)
SELECT DISTINCT c.root FROM chain AS c WHERE c.id = :job::text;
