-- The first waiting job of a group of a queue that has not expired, set aside or not.
-- Parameters: queue, group_name, now.
-- Result: seq, at most one row.
SELECT found.seq
FROM (
    (
        SELECT j.spot AS priority, j.place, j.seq
        FROM oxmill_jobs AS j FORCE INDEX (oxmill_jobs_shelf)
        WHERE
            j.shelf = CONCAT('lane ', :queue, X'00', :group_name)
            AND (j.expires_at IS NULL OR j.expires_at > :now OR j.attempt > 0)
        ORDER BY j.spot, j.place LIMIT 1
    )
    UNION ALL
    (
        SELECT a.priority, a.place, a.seq
        FROM oxmill_jobs AS a FORCE INDEX (oxmill_jobs_crowd)
        WHERE
            a.crowd = CONCAT('waiting ', :queue)
            AND a.aside IS NOT NULL
            AND a.group_name = :group_name
            AND (a.expires_at IS NULL OR a.expires_at > :now OR a.attempt > 0)
        ORDER BY a.priority, a.place LIMIT 1
    )
) AS found
ORDER BY found.priority, found.place
LIMIT 1;
