-- When the job at the head of each line was enqueued.
-- Parameters: queues, a JSON array.
-- Result: queue, enqueued_at or NULL.
SELECT
    asked.value,
    (
        SELECT j.enqueued_at FROM oxmill.jobs AS j
        WHERE j.state = 'waiting' AND j.queue = asked.value
        ORDER BY j.priority, j.place LIMIT 1
    )
FROM json_array_elements_text(:queues::json) AS asked (value);
