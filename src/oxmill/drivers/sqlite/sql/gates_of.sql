-- What a claim on one gated queue must know before it comes to any lane: whether the queue has lanes of
-- groups; the earliest moment at which one of its closed lanes is to be looked at, and the earliest for a
-- gate with jobs set aside behind it; whether a rule holds that judges more than the queue and its
-- groups' limits do; its settings; what its meter reads; how many of its jobs run, if that matters.
-- Parameters: queue, now.
-- Result: grouped, parked_at, aside_at, ruled, settings or NULL, tat or NULL, closed_until or NULL,
-- running.
SELECT
    EXISTS (
        SELECT 1 FROM lanes INDEXED BY lanes_open
        WHERE opens_at = 0 AND queue = :queue AND group_name <> ''
    )
    OR EXISTS (
        SELECT 1 FROM lanes INDEXED BY lanes_parked WHERE opens_at > 0 AND queue = :queue
    ),
    (
        SELECT opens_at FROM lanes INDEXED BY lanes_parked
        WHERE opens_at > 0 AND queue = :queue
        ORDER BY opens_at LIMIT 1
    ),
    (
        SELECT a.opens_at FROM asides AS a INDEXED BY asides_open
        WHERE
            a.queue = :queue
            AND EXISTS (
                SELECT 1 FROM jobs AS j INDEXED BY jobs_aside
                WHERE j.state = 'waiting' AND j.queue = a.queue AND j.aside = a.gate
            )
        ORDER BY a.opens_at LIMIT 1
    ),
    EXISTS (
        SELECT 1 FROM rules INDEXED BY rules_scoped
        WHERE
            scope <> 'queue'
            AND scope IN ('task', 'field', 'group')
            AND (expires_at IS NULL OR expires_at > :now)
    )
    OR EXISTS (
        SELECT 1 FROM rules
        WHERE
            target = :queue
            AND scope = 'queue'
            AND kind = 'throttle'
            AND (expires_at IS NULL OR expires_at > :now)
    ),
    s.settings,
    m.tat,
    m.closed_until,
    CASE
        WHEN s.limits & 2 THEN (
            SELECT count(*) FROM jobs AS j INDEXED BY jobs_lease
            WHERE j.state = 'running' AND j.queue = :queue
        )
        ELSE 0
    END
FROM (SELECT 1) AS asked
LEFT JOIN queue_settings AS s ON s.queue = :queue
LEFT JOIN meters AS m ON m.queue = :queue AND m.scope = 'queue' AND m.target = '';
