-- Where a job stands among the waiting ones of its queue and group, if it is not set aside: it is not
-- counted further than `most`. What is limited cannot name the job's own row, so it is looked up again.
-- Parameters: id, most.
-- Result: id of the first in line, jobs before it; no row if it does not wait in line.
SELECT
    (
        SELECT f.id FROM oxmill_jobs AS f FORCE INDEX (oxmill_jobs_shelf)
        WHERE f.shelf = j.shelf
        ORDER BY f.spot, f.place
        LIMIT 1
    ),
    LEAST(
        :most,
        (
            SELECT COUNT(*)
            FROM (
                SELECT 1 FROM oxmill_jobs AS b FORCE INDEX (oxmill_jobs_shelf)
                WHERE
                    b.shelf = (SELECT o.shelf FROM oxmill_jobs AS o WHERE o.id = :id)
                    AND b.spot < (SELECT o.spot FROM oxmill_jobs AS o WHERE o.id = :id)
                LIMIT :most
            ) AS better
        ) + (
            SELECT COUNT(*)
            FROM (
                SELECT 1 FROM oxmill_jobs AS b FORCE INDEX (oxmill_jobs_shelf)
                WHERE
                    b.shelf = (SELECT o.shelf FROM oxmill_jobs AS o WHERE o.id = :id)
                    AND b.spot = (SELECT o.spot FROM oxmill_jobs AS o WHERE o.id = :id)
                    AND b.place < (SELECT o.place FROM oxmill_jobs AS o WHERE o.id = :id)
                LIMIT :most
            ) AS before_it
        )
    )
FROM oxmill_jobs AS j
WHERE j.id = :id AND j.state = 'waiting' AND j.aside IS NULL;
