-- When the job at the head of each line was enqueued.
-- Parameters: queues, a JSON array.
-- Result: queue, enqueued_at or NULL.
SELECT
    asked.value,
    (
        SELECT j.enqueued_at FROM oxmill_jobs AS j FORCE INDEX (oxmill_jobs_shelf)
        WHERE j.shelf = CONCAT('waiting ', asked.value)
        ORDER BY j.spot, j.place LIMIT 1
    )
FROM JSON_TABLE(
    :queues, '$[*]' COLUMNS (value VARBINARY(200) PATH '$')
) AS asked;
