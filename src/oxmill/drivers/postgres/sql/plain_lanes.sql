-- Makes the lanes of no group of a queue, one for each priority that has such jobs, unless they are
-- there. The place of the first job is the turn. Each priority is one leap through an index.
-- Parameters: queue.
WITH RECURSIVE heads (priority, place) AS (
    (
        SELECT j.priority, j.place FROM oxmill.jobs AS j
        WHERE
            j.state = 'waiting' AND j.group_name IS NULL AND j.aside IS NULL
            AND j.queue = :queue::text
        ORDER BY j.priority, j.place LIMIT 1
    )
    UNION ALL
    SELECT n.priority, n.place
    FROM heads AS h
    CROSS JOIN LATERAL (
        SELECT j.priority, j.place FROM oxmill.jobs AS j
        WHERE
            j.state = 'waiting' AND j.group_name IS NULL AND j.aside IS NULL
            AND j.queue = :queue::text AND j.priority > h.priority
        ORDER BY j.priority, j.place LIMIT 1
    ) AS n
)
INSERT INTO oxmill.lanes (group_name, queue, priority, turn)
SELECT '', :queue::text, h.priority, h.place FROM heads AS h
ON CONFLICT (group_name, queue, priority) DO NOTHING;
