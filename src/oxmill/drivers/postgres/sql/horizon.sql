-- For each queue asked about: whether it is closed, whether any job waits in the plain line, the
-- earliest moment at which a job falls due, a lease ends or a job expires, and whether it may be gated.
-- Each is the first entry of an index.
-- Parameters: queues, a JSON array; now.
-- Result: queue, closed, waiting, due_at, lease_until, expires_at, gated.
SELECT
    asked.value,
    EXISTS (
        SELECT 1 FROM oxmill.rules AS r
        WHERE
            r.target = asked.value
            AND r.scope = 'queue'
            AND r.kind IN ('pause', 'block')
            AND (r.expires_at IS NULL OR r.expires_at > :now::bigint)
    ),
    (
        SELECT 1 FROM oxmill.jobs AS w
        WHERE
            w.state = 'waiting' AND w.group_name IS NULL AND w.aside IS NULL
            AND w.queue = asked.value
        ORDER BY w.priority, w.place LIMIT 1
    ) IS NOT NULL,
    (
        SELECT d.due_at FROM oxmill.jobs AS d
        WHERE d.state = 'scheduled' AND d.queue = asked.value
        ORDER BY d.due_at LIMIT 1
    ),
    (
        SELECT l.lease_until FROM oxmill.jobs AS l
        WHERE l.lease_until IS NOT NULL AND l.queue = asked.value
        ORDER BY l.lease_until LIMIT 1
    ),
    (
        SELECT e.expires_at FROM oxmill.jobs AS e
        WHERE
            e.expires_at IS NOT NULL
            AND e.attempt = 0
            AND e.state IN ('held', 'scheduled', 'waiting')
            AND e.queue = asked.value
        ORDER BY e.expires_at LIMIT 1
    ),
    oxmill.gated(ARRAY[asked.value], :now::bigint)
FROM json_array_elements_text(:queues::json) WITH ORDINALITY AS asked (value, number)
ORDER BY asked.number;
