-- When the job at the head of each line was enqueued, whatever gates it stands behind.
-- Parameters: queues, a JSON array.
-- Result: queue, enqueued_at or NULL.
SELECT
    heads.queue,
    CASE
        WHEN p.seq IS NULL THEN a.enqueued_at
        WHEN a.seq IS NULL THEN p.enqueued_at
        WHEN (p.priority, p.place) < (a.priority, a.place) THEN p.enqueued_at
        ELSE a.enqueued_at
    END
FROM (
    SELECT
        asked.value AS queue,
        (
            SELECT j.seq FROM oxmill_jobs AS j FORCE INDEX (oxmill_jobs_shelf)
            WHERE j.shelf = CONCAT('waiting ', asked.value)
            ORDER BY j.spot, j.place LIMIT 1
        ) AS plain,
        (
            SELECT c.seq FROM oxmill_jobs AS c FORCE INDEX (oxmill_jobs_crowd)
            WHERE c.crowd = CONCAT('waiting ', asked.value)
            ORDER BY c.priority, c.place LIMIT 1
        ) AS apart
    FROM JSON_TABLE(
        :queues, '$[*]' COLUMNS (value VARBINARY(200) PATH '$')
    ) AS asked
) AS heads
LEFT JOIN oxmill_jobs AS p ON p.seq = heads.plain
LEFT JOIN oxmill_jobs AS a ON a.seq = heads.apart;
