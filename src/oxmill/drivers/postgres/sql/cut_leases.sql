-- Leases granted later than now, by a clock that was stepped back since, get their full length
-- from now.
-- Parameters: queues, a JSON array; now, tolerance.
UPDATE oxmill.jobs AS j SET lease_until = :now::bigint + j.lease
FROM (
    SELECT ahead.seq
    FROM json_array_elements_text(:queues::json) AS asked (value)
    JOIN oxmill.jobs AS ahead ON ahead.queue = asked.value
    WHERE
        ahead.lease_until > :now::bigint + :tolerance::bigint
        AND ahead.lease_until - ahead.lease > :now::bigint + :tolerance::bigint
    FOR UPDATE OF ahead SKIP LOCKED
) AS wrong
WHERE j.seq = wrong.seq;
