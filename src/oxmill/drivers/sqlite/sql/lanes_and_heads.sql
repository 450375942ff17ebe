-- The next open lanes of a queue in the order of serving, by priority and then by turn; each with what
-- stands before its group, and the first of its jobs that a claim may grant now.
-- Parameters: queue; priority, turn, group_name, the lane to go on after; now; most; counted, 1 if it
-- matters how many jobs of a group run.
-- Result: the columns of a lease, NULL if no job waits there; then group_name and priority of the lane,
-- its turn, the place of the job, whether another such job stands behind it; tat, closed_until, or NULL,
-- and the number of running jobs of the group.
SELECT
    j.seq, j.id, j.queue, j.task, j.payload, j.attempt, j.priority, j.failures, j.crashes,
    j.max_attempts, j.enqueued_at, j.group_name, j.extras, j.progress, j.unique_key,
    found.group_name,
    found.priority,
    found.turn,
    j.place,
    CASE
        WHEN found.group_name = '' THEN EXISTS (
            SELECT 1 FROM jobs AS n INDEXED BY jobs_claim
            WHERE
                n.state = 'waiting'
                AND n.group_name IS NULL
                AND n.aside IS NULL
                AND n.queue = :queue
                AND n.priority = found.priority
                AND n.place > j.place
                AND (n.expires_at IS NULL OR n.expires_at > :now OR n.attempt > 0)
        )
        ELSE EXISTS (
            SELECT 1 FROM jobs AS n INDEXED BY jobs_lane
            WHERE
                n.state = 'waiting'
                AND n.queue = :queue
                AND n.group_name = found.group_name
                AND n.aside IS NULL
                AND n.priority = found.priority
                AND n.place > j.place
                AND (n.expires_at IS NULL OR n.expires_at > :now OR n.attempt > 0)
        )
    END,
    m.tat,
    m.closed_until,
    CASE
        WHEN :counted THEN (
            SELECT count(*) FROM jobs AS r INDEXED BY jobs_running
            WHERE r.state = 'running' AND r.queue = :queue AND r.group_name = found.group_name
        )
        ELSE 0
    END
FROM (
    SELECT group_name, priority, turn
    FROM lanes INDEXED BY lanes_open
    WHERE
        opens_at = 0
        AND queue = :queue
        AND (priority, turn, group_name) > (:priority, :turn, :group_name)
    ORDER BY priority, turn, group_name
    LIMIT :most
) AS found
LEFT JOIN meters AS m ON m.queue = :queue AND m.scope = 'group' AND m.target = found.group_name
LEFT JOIN jobs AS j ON j.seq = CASE
    WHEN found.group_name = '' THEN (
        SELECT h.seq FROM jobs AS h INDEXED BY jobs_claim
        WHERE
            h.state = 'waiting'
            AND h.group_name IS NULL
            AND h.aside IS NULL
            AND h.queue = :queue
            AND h.priority = found.priority
            AND (h.expires_at IS NULL OR h.expires_at > :now OR h.attempt > 0)
        ORDER BY h.place LIMIT 1
    )
    ELSE (
        SELECT h.seq FROM jobs AS h INDEXED BY jobs_lane
        WHERE
            h.state = 'waiting'
            AND h.queue = :queue
            AND h.group_name = found.group_name
            AND h.aside IS NULL
            AND h.priority = found.priority
            AND (h.expires_at IS NULL OR h.expires_at > :now OR h.attempt > 0)
        ORDER BY h.place LIMIT 1
    )
END;
