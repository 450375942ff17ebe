-- The jobs that match everything asked, out of the sources given: seqs, ids, a field or tag, and
-- queues by state. Sources not used are empty. The oldest arrivals first.
-- Parameters: seqs, ids, field_name, field_value, waiting, scheduled, running, held, ended, the
-- sources; queues, tasks, states, group_name, tag, fields, since, before, unasked, key_free, now,
-- the conditions, NULL where not asked; most.
-- Result: the columns of a standing.
SELECT
    j.seq, j.id, j.queue, j.state, j.priority, j.place, j.due_at, j.enqueued_at,
    j.expires_at, j.attempt, j.nonce, j.failures, j.crashes, j.max_attempts, j.crash_limit,
    j.claimed_at, j.worker, j.reason, j.cancel_requested, j.last_outcome, j.keep, j.unique_key,
    j.extras, j.group_name
FROM (
    SELECT listed.seq
    FROM JSON_TABLE(:seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS listed
    UNION ALL
    SELECT named.seq
    FROM JSON_TABLE(
        :ids, '$[*]' COLUMNS (value VARBINARY(200) PATH '$')
    ) AS asked
    STRAIGHT_JOIN oxmill_jobs AS named FORCE INDEX (oxmill_jobs_id) ON named.id = asked.value
    UNION ALL
    SELECT f.job FROM oxmill_fields AS f WHERE f.name = :field_name AND f.value = :field_value
    UNION ALL
    SELECT w.seq
    FROM JSON_TABLE(
        :waiting, '$[*]' COLUMNS (value VARBINARY(200) PATH '$')
    ) AS asked
    STRAIGHT_JOIN oxmill_jobs AS w FORCE INDEX (oxmill_jobs_shelf)
        ON w.shelf = CONCAT('waiting ', asked.value)
    UNION ALL
    SELECT c.seq
    FROM JSON_TABLE(
        :waiting, '$[*]' COLUMNS (value VARBINARY(200) PATH '$')
    ) AS asked
    STRAIGHT_JOIN oxmill_jobs AS c FORCE INDEX (oxmill_jobs_crowd)
        ON c.crowd = CONCAT('waiting ', asked.value)
    UNION ALL
    SELECT d.seq
    FROM JSON_TABLE(
        :scheduled, '$[*]' COLUMNS (value VARBINARY(200) PATH '$')
    ) AS asked
    STRAIGHT_JOIN oxmill_jobs AS d FORCE INDEX (oxmill_jobs_shelf)
        ON d.shelf = CONCAT('scheduled ', asked.value)
    UNION ALL
    SELECT r.seq
    FROM JSON_TABLE(
        :running, '$[*]' COLUMNS (value VARBINARY(200) PATH '$')
    ) AS asked
    STRAIGHT_JOIN oxmill_jobs AS r FORCE INDEX (oxmill_jobs_shelf)
        ON r.shelf = CONCAT('running ', asked.value)
    UNION ALL
    SELECT h.seq
    FROM JSON_TABLE(
        :held, '$[*]' COLUMNS (value VARBINARY(200) PATH '$')
    ) AS asked
    STRAIGHT_JOIN oxmill_jobs AS h FORCE INDEX (oxmill_jobs_shelf)
        ON h.shelf = CONCAT('held ', asked.value)
    UNION ALL
    SELECT e.seq
    FROM JSON_TABLE(:ended, '$[*]' COLUMNS (value VARBINARY(20) PATH '$')) AS asked
    STRAIGHT_JOIN oxmill_jobs AS e FORCE INDEX (oxmill_jobs_shelf) ON e.shelf = asked.value
) AS source
STRAIGHT_JOIN oxmill_jobs AS j FORCE INDEX (PRIMARY) ON j.seq = source.seq
WHERE
    (:queues IS NULL OR j.queue IN (:queues*))
    AND (:tasks IS NULL OR j.task IN (:tasks*))
    AND (:states IS NULL OR j.state IN (:states*))
    AND (:group_name IS NULL OR j.group_name = :group_name)
    AND (:since IS NULL OR j.enqueued_at >= :since)
    AND (:before IS NULL OR j.enqueued_at < :before)
    AND (
        :tag IS NULL
        OR EXISTS (
            SELECT 1 FROM oxmill_fields AS t
            WHERE t.name = '' AND t.value = :tag AND t.job = j.seq
        )
    )
    AND (
        :fields IS NULL
        OR NOT EXISTS (
            SELECT 1
            FROM JSON_TABLE(
                :fields,
                '$[*]' COLUMNS (
                    name VARBINARY(200) PATH '$[0]',
                    value VARBINARY(1001) PATH '$[1]'
                )
            ) AS wanted
            WHERE NOT EXISTS (
                SELECT 1 FROM oxmill_fields AS v
                WHERE v.name = wanted.name AND v.value = wanted.value AND v.job = j.seq
            )
        )
    )
    AND (:unasked IS NULL OR j.state <> 'running' OR j.cancel_requested = 0)
    AND (
        :key_free IS NULL
        OR j.unique_key IS NULL
        OR NOT EXISTS (
            SELECT 1 FROM oxmill_unique_keys AS k
            WHERE
                k.name = j.unique_key
                AND (k.live OR k.hold_until > :now OR k.successor IS NOT NULL)
                AND NOT (k.holder = j.id AND k.successor IS NULL)
        )
    )
ORDER BY j.seq
LIMIT :most;
