-- The jobs that match everything asked, out of the sources given: seqs, ids, a field or tag, and
-- queues by state. Sources not used are empty. The oldest arrivals first.
-- Parameters: seqs, ids, field_name, field_value as JSON, waiting, scheduled, running, held, ended, the
-- sources; queues, tasks, states, group_name, tag, fields, since, before, unasked, key_free, now,
-- the conditions, NULL where not asked; most.
-- Result: the columns of a standing.
SELECT
    j.seq, j.id, j.queue, j.state, j.priority, j.place, j.due_at, j.enqueued_at,
    j.expires_at, j.attempt, j.nonce, j.failures, j.crashes, j.max_attempts, j.crash_limit,
    j.claimed_at, j.worker, j.reason, j.cancel_requested, j.last_outcome, j.keep, j.unique_key,
    j.extras, j.group_name
FROM (
    SELECT asked.value AS seq FROM json_each(:seqs) AS asked
    UNION ALL
    SELECT named.seq
    FROM json_each(:ids) AS asked
    CROSS JOIN jobs AS named ON named.id = asked.value
    UNION ALL
    SELECT f.job FROM fields AS f WHERE f.name = :field_name AND f.value = json_extract(:field_value, '$')
    UNION ALL
    SELECT w.seq
    FROM json_each(:waiting) AS asked
    CROSS JOIN jobs AS w INDEXED BY jobs_claim
        ON w.state = 'waiting' AND w.group_name IS NULL AND w.aside IS NULL
        AND w.queue = asked.value
    UNION ALL
    SELECT a.seq
    FROM json_each(:waiting) AS asked
    CROSS JOIN jobs AS a INDEXED BY jobs_apart
        ON a.state = 'waiting' AND (a.group_name IS NOT NULL OR a.aside IS NOT NULL)
        AND a.queue = asked.value
    UNION ALL
    SELECT d.seq
    FROM json_each(:scheduled) AS asked
    CROSS JOIN jobs AS d INDEXED BY jobs_due ON d.state = 'scheduled' AND d.queue = asked.value
    UNION ALL
    SELECT r.seq
    FROM json_each(:running) AS asked
    CROSS JOIN jobs AS r INDEXED BY jobs_lease ON r.state = 'running' AND r.queue = asked.value
    UNION ALL
    SELECT h.seq
    FROM json_each(:held) AS asked
    CROSS JOIN jobs AS h INDEXED BY jobs_held ON h.state = 'held' AND h.queue = asked.value
    UNION ALL
    SELECT e.seq
    FROM json_each(:ended) AS asked
    CROSS JOIN jobs AS e INDEXED BY jobs_ended
        ON e.state = asked.value
        AND (e.state = 'succeeded' OR e.state = 'failed' OR e.state = 'cancelled')
) AS source
CROSS JOIN jobs AS j ON j.seq = source.seq
WHERE
    (:queues IS NULL OR j.queue IN (SELECT value FROM json_each(:queues)))
    AND (:tasks IS NULL OR j.task IN (SELECT value FROM json_each(:tasks)))
    AND (:states IS NULL OR j.state IN (SELECT value FROM json_each(:states)))
    AND (:group_name IS NULL OR j.group_name = :group_name)
    AND (:since IS NULL OR j.enqueued_at >= :since)
    AND (:before IS NULL OR j.enqueued_at < :before)
    AND (
        :tag IS NULL
        OR EXISTS (SELECT 1 FROM fields WHERE name = '' AND value = :tag AND job = j.seq)
    )
    AND (
        :fields IS NULL
        OR NOT EXISTS (
            SELECT 1 FROM json_each(:fields) AS wanted
            WHERE NOT EXISTS (
                SELECT 1 FROM fields
                WHERE name = wanted.key AND value = wanted.value AND job = j.seq
            )
        )
    )
    AND (:unasked IS NULL OR j.state <> 'running' OR j.cancel_requested = 0)
    AND (
        :key_free IS NULL
        OR j.unique_key IS NULL
        OR NOT EXISTS (
            SELECT 1 FROM unique_keys AS k
            WHERE
                k.key = j.unique_key
                AND (k.live OR k.hold_until > :now OR k.successor IS NOT NULL)
                AND NOT (k.holder = j.id AND k.successor IS NULL)
        )
    )
ORDER BY j.seq
LIMIT :most;
