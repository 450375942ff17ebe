-- What comes next in one queue, of which only a claim that got less than it asked for wants to know.
-- Parameters: place, queue; most, how many were asked for.
-- Result: now, ready, closed, and when the first job falls due and the first lease ends.
SELECT
    @oxmill_now,
    @oxmill_ready,
    @oxmill_closed_:place,
    IF(
        @oxmill_many < :most,
        (
            SELECT d.spot FROM oxmill_jobs AS d FORCE INDEX (oxmill_jobs_shelf)
            WHERE d.shelf = CONCAT('scheduled ', :queue)
            ORDER BY d.spot LIMIT 1
        ),
        NULL
    ),
    IF(
        @oxmill_many < :most,
        (
            SELECT l.spot FROM oxmill_jobs AS l FORCE INDEX (oxmill_jobs_shelf)
            WHERE l.shelf = CONCAT('running ', :queue)
            ORDER BY l.spot LIMIT 1
        ),
        NULL
    );
