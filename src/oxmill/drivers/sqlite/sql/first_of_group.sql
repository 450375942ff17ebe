-- The first waiting job of a group of a queue that has not expired, set aside or not.
-- Parameters: queue, group_name, now.
-- Result: seq, at most one row.
SELECT seq FROM (
    SELECT priority, place, seq
    FROM jobs INDEXED BY jobs_lane
    WHERE
        state = 'waiting' AND queue = :queue AND group_name = :group_name AND aside IS NULL
        AND (expires_at IS NULL OR expires_at > :now OR attempt > 0)
    UNION ALL
    SELECT priority, place, seq FROM (
        SELECT priority, place, seq
        FROM jobs INDEXED BY jobs_lane
        WHERE
            state = 'waiting' AND queue = :queue AND group_name = :group_name AND aside > ''
            AND (expires_at IS NULL OR expires_at > :now OR attempt > 0)
        ORDER BY priority, place LIMIT 1
    )
    ORDER BY priority, place
    LIMIT 1
);
