-- The jobs that match everything asked, out of the sources given: seqs, ids, a field or tag, and
-- queues by state. Sources not used are empty. The oldest arrivals first.
-- Parameters: seqs, ids, field_name, field_value (JSON), waiting, scheduled, running, held, ended,
-- the sources; queues, tasks, states, group_name, tag, fields, since, before, unasked, key_free,
-- now, the conditions, NULL where not asked; most, or less than 0 for all.
-- Result: the columns of a standing.
SELECT
    j.seq, j.id, j.queue, j.state, j.priority, j.place, j.due_at, j.enqueued_at,
    j.expires_at, j.attempt, j.nonce, j.failures, j.crashes, j.max_attempts, j.crash_limit,
    j.claimed_at, j.worker, j.reason, j.cancel_requested, j.last_outcome, j.keep, j.unique_key,
    j.extras, j.group_name
FROM (
    SELECT found.seq
    FROM oxmill.sources(
        :seqs::json, :ids::json, :field_name::text, :field_value::text, :waiting::json,
        :scheduled::json, :running::json, :held::json, :ended::json
    ) AS found (seq)
    ORDER BY found.seq
) AS source
JOIN oxmill.jobs AS j ON j.seq = source.seq
WHERE
    (
        :queues::json IS NULL
        OR j.queue IN (SELECT q.value FROM json_array_elements_text(:queues::json) AS q (value))
    )
    AND (
        :tasks::json IS NULL
        OR j.task IN (SELECT t.value FROM json_array_elements_text(:tasks::json) AS t (value))
    )
    AND (
        :states::json IS NULL
        OR j.state IN (SELECT s.value FROM json_array_elements_text(:states::json) AS s (value))
    )
    AND (:group_name::text IS NULL OR j.group_name = :group_name::text)
    AND (:since::bigint IS NULL OR j.enqueued_at >= :since::bigint)
    AND (:before::bigint IS NULL OR j.enqueued_at < :before::bigint)
    AND (
        :tag::text IS NULL
        OR EXISTS (
            SELECT 1 FROM oxmill.fields AS f
            WHERE f.name = '' AND f.value = to_json(:tag::text)::text AND f.job = j.seq
        )
    )
    AND (
        :fields::json IS NULL
        OR NOT EXISTS (
            SELECT 1 FROM json_each(:fields::json) AS wanted (name, value)
            WHERE NOT EXISTS (
                SELECT 1 FROM oxmill.fields AS f
                WHERE f.name = wanted.name AND f.value = wanted.value::text AND f.job = j.seq
            )
        )
    )
    AND (:unasked::integer IS NULL OR j.state <> 'running' OR j.cancel_requested = 0)
    AND (
        :key_free::integer IS NULL
        OR j.unique_key IS NULL
        OR NOT EXISTS (
            SELECT 1 FROM oxmill.unique_keys AS k
            WHERE
                k.key = j.unique_key
                AND (k.live = 1 OR k.hold_until > :now::bigint OR k.successor IS NOT NULL)
                AND NOT (k.holder = j.id AND k.successor IS NULL)
        )
    )
ORDER BY j.seq
LIMIT CASE WHEN :most::bigint >= 0 THEN :most::bigint END;
