-- Where a job stands among the waiting ones of its queue and group, if it is not set aside: it is not
-- counted further than `most`.
-- Parameters: id, most.
-- Result: id of the first in line, jobs before it; no row if it does not wait in line.
SELECT
    CASE WHEN j.group_name IS NULL THEN (
        SELECT f.id FROM oxmill.jobs AS f
        WHERE
            f.state = 'waiting' AND f.group_name IS NULL AND f.aside IS NULL
            AND f.queue = j.queue
        ORDER BY f.priority, f.place
        LIMIT 1
    ) ELSE (
        SELECT f.id FROM oxmill.jobs AS f
        WHERE
            f.state = 'waiting' AND f.group_name IS NOT NULL AND f.aside IS NULL
            AND f.queue = j.queue AND f.group_name = j.group_name
        ORDER BY f.priority, f.place
        LIMIT 1
    ) END,
    CASE WHEN j.group_name IS NULL THEN (
        SELECT count(*) FROM (
            SELECT 1 FROM oxmill.jobs AS b
            WHERE
                b.state = 'waiting' AND b.group_name IS NULL AND b.aside IS NULL
                AND b.queue = j.queue
                AND (b.priority, b.place) < (j.priority, j.place)
            LIMIT :most::bigint
        ) AS ahead
    ) ELSE (
        SELECT count(*) FROM (
            SELECT 1 FROM oxmill.jobs AS b
            WHERE
                b.state = 'waiting' AND b.group_name IS NOT NULL AND b.aside IS NULL
                AND b.queue = j.queue AND b.group_name = j.group_name
                AND (b.priority, b.place) < (j.priority, j.place)
            LIMIT :most::bigint
        ) AS ahead
    ) END
FROM oxmill.jobs AS j
WHERE j.id = :id::text AND j.state = 'waiting' AND j.aside IS NULL;
