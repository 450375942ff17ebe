-- When the job at the head of each line was enqueued, whatever gates it stands behind.
-- Parameters: queues, a JSON array.
-- Result: queue, enqueued_at or NULL.
SELECT
    asked.value,
    (
        SELECT head.enqueued_at
        FROM (
            (
                SELECT j.priority, j.place, j.enqueued_at FROM oxmill.jobs AS j
                WHERE
                    j.state = 'waiting' AND j.group_name IS NULL AND j.aside IS NULL
                    AND j.queue = asked.value
                ORDER BY j.priority, j.place LIMIT 1
            )
            UNION ALL
            (
                SELECT j.priority, j.place, j.enqueued_at FROM oxmill.jobs AS j
                WHERE
                    j.state = 'waiting' AND coalesce(j.group_name, j.aside) IS NOT NULL
                    AND j.queue = asked.value
                ORDER BY j.priority, j.place LIMIT 1
            )
        ) AS head
        ORDER BY head.priority, head.place LIMIT 1
    )
FROM json_array_elements_text(:queues::json) AS asked (value);
