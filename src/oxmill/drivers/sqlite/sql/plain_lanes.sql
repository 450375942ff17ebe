-- Makes the lanes of no group of a queue, one for each priority that has such jobs, unless they are
-- there. The place of the first job is the turn. Each priority is one leap through an index.
-- Parameters: queue.
WITH RECURSIVE first (seq) AS (
    SELECT (
        SELECT h.seq FROM jobs AS h INDEXED BY jobs_claim
        WHERE
            h.state = 'waiting' AND h.group_name IS NULL AND h.aside IS NULL AND h.queue = :queue
        ORDER BY h.priority, h.place LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT n.seq FROM jobs AS n INDEXED BY jobs_claim
        WHERE
            n.state = 'waiting' AND n.group_name IS NULL AND n.aside IS NULL AND n.queue = :queue
            AND n.priority > (SELECT p.priority FROM jobs AS p WHERE p.seq = first.seq)
        ORDER BY n.priority, n.place LIMIT 1
    )
    FROM first
    WHERE first.seq IS NOT NULL
)
INSERT OR IGNORE INTO lanes (group_name, queue, priority, turn)
SELECT '', :queue, j.priority, j.place
FROM first
CROSS JOIN jobs AS j ON j.seq = first.seq
WHERE true;
