-- The first waiting job of a group of a queue that has not expired, set aside or not.
-- Parameters: queue, group_name, now.
-- Result: seq, at most one row.
SELECT found.seq
FROM (
    (
        SELECT j.priority, j.place, j.seq FROM oxmill.jobs AS j
        WHERE
            j.state = 'waiting' AND j.group_name IS NOT NULL AND j.aside IS NULL
            AND j.queue = :queue::text AND j.group_name = :group_name::text
            AND (j.expires_at IS NULL OR j.expires_at > :now::bigint OR j.attempt > 0)
        ORDER BY j.priority, j.place LIMIT 1
    )
    UNION ALL
    (
        SELECT a.priority, a.place, a.seq FROM oxmill.jobs AS a
        WHERE
            a.state = 'waiting' AND a.aside IS NOT NULL AND a.queue = :queue::text
            AND a.group_name = :group_name::text
            AND (a.expires_at IS NULL OR a.expires_at > :now::bigint OR a.attempt > 0)
        ORDER BY a.priority, a.place LIMIT 1
    )
) AS found
ORDER BY found.priority, found.place
LIMIT 1;
