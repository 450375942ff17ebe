-- For each queue asked about: whether it is closed, whether any job waits, and the earliest moment
-- at which a job falls due, a lease ends or a job expires. Each is the first entry of an index.
-- Parameters: queues, a JSON array; now.
-- Result: queue, closed, waiting, due_at, lease_until, expires_at.
SELECT
    asked.value,
    EXISTS (
        SELECT 1 FROM oxmill_rules AS r
        WHERE
            r.target = asked.value
            AND r.scope = 'queue'
            AND r.kind IN ('pause', 'block')
            AND (r.expires_at IS NULL OR r.expires_at > :now)
    ),
    EXISTS (
        SELECT 1 FROM oxmill_jobs AS w FORCE INDEX (oxmill_jobs_shelf)
        WHERE w.shelf = CONCAT('waiting ', asked.value)
    ),
    (
        SELECT d.spot FROM oxmill_jobs AS d FORCE INDEX (oxmill_jobs_shelf)
        WHERE d.shelf = CONCAT('scheduled ', asked.value)
        ORDER BY d.spot LIMIT 1
    ),
    (
        SELECT l.spot FROM oxmill_jobs AS l FORCE INDEX (oxmill_jobs_shelf)
        WHERE l.shelf = CONCAT('running ', asked.value)
        ORDER BY l.spot LIMIT 1
    ),
    (
        SELECT NULLIF(e.expiry, 9223372036854775807)
        FROM oxmill_jobs AS e FORCE INDEX (oxmill_jobs_expiry)
        WHERE e.queue = asked.value
        ORDER BY e.expiry LIMIT 1
    )
FROM JSON_TABLE(
    :queues, '$[*]' COLUMNS (value VARBINARY(200) PATH '$')
) AS asked;
