-- Where a job stands among the waiting ones of its queue and group, if it is not set aside: it is not
-- counted further than `most`.
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
            SELECT COUNT(*) FROM oxmill_jobs AS b FORCE INDEX (oxmill_jobs_shelf)
            WHERE b.shelf = j.shelf AND b.spot < j.spot
        ) + (
            SELECT COUNT(*) FROM oxmill_jobs AS b FORCE INDEX (oxmill_jobs_shelf)
            WHERE b.shelf = j.shelf AND b.spot = j.spot AND b.place < j.place
        )
    )
FROM oxmill_jobs AS j
WHERE j.id = :id AND j.state = 'waiting' AND j.aside IS NULL;
