-- Locks the unique keys that a claim on these queues may free, before it locks any job.
-- Result: the keys.
CREATE OR REPLACE FUNCTION oxmill.lock_started(opened text[], most integer, moment bigint)
RETURNS text[]
LANGUAGE plpgsql VOLATILE
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
DECLARE
    keyed text[];
BEGIN
    keyed := ARRAY(
        SELECT head.unique_key
        FROM unnest(opened) AS q (name)
        CROSS JOIN LATERAL (
            SELECT j.unique_key, j.extras FROM oxmill.jobs AS j
            WHERE
                j.state = 'waiting' AND j.group_name IS NULL AND j.aside IS NULL
                AND j.queue = q.name
                AND (j.expires_at IS NULL OR j.expires_at > moment OR j.attempt > 0)
            ORDER BY j.priority, j.place
            LIMIT most
        ) AS head
        WHERE head.unique_key IS NOT NULL AND head.extras LIKE '%"until":"started"%'
    );
    PERFORM pg_advisory_xact_lock(hashtext('oxmill.keys'), ordered.slot)
    FROM (
        SELECT DISTINCT oxmill.key_slot(k.key) AS slot FROM unnest(keyed) AS k (key) ORDER BY slot
    ) AS ordered;
    RETURN keyed;
END
$$;
