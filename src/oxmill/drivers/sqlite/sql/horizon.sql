-- For each queue asked about: whether it is closed, whether any job waits in the plain line, the
-- earliest moment at which a job falls due, a lease ends or a job expires, and whether it may be gated: by
-- groups, limits, jobs set aside, rules on anything but queues, throttles, or because a job has shut it.
-- Each is the first entry of an index.
-- Parameters: queues, a JSON array; now.
-- Result: queue, closed, waiting, due_at, lease_until, expires_at, gated.
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
        WHERE
            state = 'waiting' AND group_name IS NULL AND aside IS NULL AND queue = asked.value
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
    ),
    EXISTS (
        SELECT 1 FROM lanes INDEXED BY lanes_open
        WHERE opens_at = 0 AND queue = asked.value AND group_name <> ''
    )
    OR EXISTS (
        SELECT 1 FROM lanes INDEXED BY lanes_parked WHERE opens_at > 0 AND queue = asked.value
    )
    OR EXISTS (SELECT 1 FROM queue_settings WHERE queue = asked.value AND limits > 0)
    OR EXISTS (SELECT 1 FROM asides INDEXED BY asides_open WHERE queue = asked.value)
    OR EXISTS (SELECT 1 FROM rules INDEXED BY rules_scoped WHERE scope <> 'queue' AND scope > '')
    OR EXISTS (
        SELECT 1 FROM rules WHERE target = asked.value AND scope = 'queue' AND kind = 'throttle'
    )
    OR EXISTS (
        SELECT 1 FROM meters
        WHERE queue = asked.value AND scope = 'queue' AND target = '' AND closed_until > :now
    )
FROM json_each(:queues) AS asked;
