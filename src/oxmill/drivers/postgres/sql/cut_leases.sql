-- Leases granted later than now, by a clock that was stepped back since, get their full length
-- from now. Such leases end later than others of their length: of each queue only the `most` that end
-- last are looked at, and the next ones once these are cut.
-- Parameters: queues, a JSON array; now, tolerance, most.
UPDATE oxmill.jobs AS j SET lease_until = :now::bigint + j.lease
FROM (
    SELECT ahead.seq
    FROM oxmill.jobs AS ahead
    WHERE
        ahead.seq = ANY (ARRAY(
            SELECT last.seq
            FROM json_array_elements_text(:queues::json) AS asked (value)
            CROSS JOIN LATERAL (
                SELECT l.seq, l.lease_until - l.lease AS granted_at FROM oxmill.jobs AS l
                WHERE
                    l.lease_until IS NOT NULL AND l.queue = asked.value
                    AND l.lease_until > :now::bigint + :tolerance::bigint
                ORDER BY l.lease_until DESC
                LIMIT :most::bigint
            ) AS last
            WHERE last.granted_at > :now::bigint + :tolerance::bigint
        ))
        AND ahead.lease_until - ahead.lease > :now::bigint + :tolerance::bigint
    FOR UPDATE OF ahead SKIP LOCKED
) AS wrong
WHERE j.seq = wrong.seq;
