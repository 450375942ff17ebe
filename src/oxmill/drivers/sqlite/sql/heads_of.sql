-- When the job at the head of each line was enqueued, whatever gates it stands behind.
-- Parameters: queues, a JSON array.
-- Result: queue, enqueued_at or NULL.
SELECT
    asked.value,
    (
        SELECT head.enqueued_at
        FROM (
            SELECT priority, place, enqueued_at
            FROM jobs INDEXED BY jobs_claim
            WHERE
                state = 'waiting' AND group_name IS NULL AND aside IS NULL AND queue = asked.value
            UNION ALL
            SELECT priority, place, enqueued_at
            FROM jobs INDEXED BY jobs_apart
            WHERE
                state = 'waiting' AND (group_name IS NOT NULL OR aside IS NOT NULL)
                AND queue = asked.value
            ORDER BY priority, place
            LIMIT 1
        ) AS head
    )
FROM json_each(:queues) AS asked;
