-- Where a job stands among the waiting ones of its queue and group, if it is not set aside: it is not
-- counted further than `most`.
-- Parameters: id, most.
-- Result: id of the first in line, jobs before it; no row if it does not wait in line.
SELECT
    CASE WHEN j.group_name IS NULL THEN (
        SELECT f.id FROM jobs AS f INDEXED BY jobs_claim
        WHERE
            f.state = 'waiting' AND f.group_name IS NULL AND f.aside IS NULL
            AND f.queue = j.queue
        ORDER BY f.priority, f.place
        LIMIT 1
    ) ELSE (
        SELECT f.id FROM jobs AS f INDEXED BY jobs_lane
        WHERE
            f.state = 'waiting' AND f.queue = j.queue AND f.group_name = j.group_name
            AND f.aside IS NULL
        ORDER BY f.priority, f.place
        LIMIT 1
    ) END,
    CASE WHEN j.group_name IS NULL THEN (
        SELECT count(*) FROM (
            SELECT 1 FROM jobs AS b INDEXED BY jobs_claim
            WHERE
                b.state = 'waiting' AND b.group_name IS NULL AND b.aside IS NULL
                AND b.queue = j.queue
                AND (b.priority, b.place) < (j.priority, j.place)
            LIMIT :most
        )
    ) ELSE (
        SELECT count(*) FROM (
            SELECT 1 FROM jobs AS b INDEXED BY jobs_lane
            WHERE
                b.state = 'waiting' AND b.queue = j.queue AND b.group_name = j.group_name
                AND b.aside IS NULL
                AND (b.priority, b.place) < (j.priority, j.place)
            LIMIT :most
        )
    ) END
FROM jobs AS j
WHERE j.id = :id AND j.state = 'waiting' AND j.aside IS NULL;
