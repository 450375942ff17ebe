-- Whether a claim of this queue, whose gate the caller has entered, must look at more than the limits of
-- the queue and lanes that take turns; also if it is not gated at all.
CREATE OR REPLACE FUNCTION oxmill.unusual(wanted text, moment bigint) RETURNS boolean
LANGUAGE plpgsql STABLE
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
BEGIN
    RETURN
        EXISTS (SELECT 1 FROM oxmill.rules AS r WHERE r.scope <> 'queue')
        OR EXISTS (SELECT 1 FROM oxmill.rules AS r WHERE r.target = wanted AND r.scope = 'queue')
        OR EXISTS (SELECT 1 FROM oxmill.asides AS a WHERE a.queue = wanted)
        OR EXISTS (
            SELECT 1 FROM oxmill.lanes AS l
            WHERE l.opens_at > 0 AND l.queue = wanted AND l.opens_at <= moment
        )
        OR EXISTS (
            SELECT 1 FROM oxmill.meters AS m
            WHERE
                m.queue = wanted AND m.scope = 'queue' AND m.target = ''
                AND m.closed_until > moment
        )
        OR EXISTS (
            SELECT 1 FROM oxmill.jobs AS j WHERE j.queue = wanted AND j.lease_until <= moment
        )
        OR EXISTS (
            SELECT 1 FROM oxmill.jobs AS j
            WHERE j.state = 'scheduled' AND j.queue = wanted AND j.due_at <= moment
        )
        OR EXISTS (
            SELECT 1 FROM oxmill.jobs AS j
            WHERE
                j.expires_at IS NOT NULL AND j.attempt = 0
                AND j.state IN ('held', 'scheduled', 'waiting')
                AND j.queue = wanted AND j.expires_at <= moment
        )
        OR NOT (
            EXISTS (
                SELECT 1 FROM oxmill.queue_settings AS s WHERE s.queue = wanted AND s.limits > 0
            )
            OR EXISTS (
                SELECT 1 FROM oxmill.lanes AS l
                WHERE l.opens_at = 0 AND l.queue = wanted AND l.group_name <> ''
            )
            OR EXISTS (SELECT 1 FROM oxmill.lanes AS l WHERE l.opens_at > 0 AND l.queue = wanted)
        );
END
$$;
