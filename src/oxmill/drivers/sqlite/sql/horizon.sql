-- For each queue asked about: whether it is closed, whether any job waits, and the earliest moment
-- at which a job falls due, a lease ends or a job expires. Each is the first entry of an index.
-- Parameters: queues, a JSON array; now.
-- Result: queue, closed, waiting, due_at, lease_until, expires_at.
SELECT
    asked.value,
    EXISTS (
        SELECT 1 FROM rules
        WHERE
            target = asked.value
            AND scope = 'queue'
            AND kind IN ('pause', 'block')
            AND (expires_at IS NULL OR expires_at > :now)
    ),
    EXISTS (
        SELECT 1 FROM jobs INDEXED BY jobs_claim
        WHERE state = 'waiting' AND queue = asked.value
    ),
    (
        SELECT due_at FROM jobs INDEXED BY jobs_due
        WHERE state = 'scheduled' AND queue = asked.value
        ORDER BY due_at LIMIT 1
    ),
    (
        SELECT lease_until FROM jobs INDEXED BY jobs_lease
        WHERE state = 'running' AND queue = asked.value
        ORDER BY lease_until LIMIT 1
    ),
    (
        SELECT expires_at FROM jobs INDEXED BY jobs_expiry
        WHERE
            expires_at IS NOT NULL
            AND attempt = 0
            AND state IN ('held', 'scheduled', 'waiting')
            AND queue = asked.value
        ORDER BY expires_at LIMIT 1
    )
FROM json_each(:queues) AS asked;
