-- When the job at the head of each line was enqueued.
-- Parameters: queues, a JSON array.
-- Result: queue, enqueued_at or NULL.
SELECT
    asked.value,
    (
        SELECT enqueued_at FROM jobs INDEXED BY jobs_claim
        WHERE state = 'waiting' AND queue = asked.value
        ORDER BY priority, place LIMIT 1
    )
FROM json_each(:queues) AS asked;
