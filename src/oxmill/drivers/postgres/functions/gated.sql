-- Whether a claim on any of these queues must look at lanes and gates: because of groups, limits, jobs
-- set aside, rules on anything but queues, throttles, or a job that has shut one of them.
CREATE OR REPLACE FUNCTION oxmill.gated(wanted text[], moment bigint) RETURNS boolean
LANGUAGE plpgsql STABLE
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
BEGIN
    RETURN
        EXISTS (
            SELECT 1 FROM oxmill.lanes AS l
            WHERE l.opens_at = 0 AND l.queue = ANY (wanted) AND l.group_name <> ''
        )
        OR EXISTS (SELECT 1 FROM oxmill.lane_news AS n WHERE n.queue = ANY (wanted))
        OR EXISTS (SELECT 1 FROM oxmill.lanes AS l WHERE l.opens_at > 0 AND l.queue = ANY (wanted))
        OR EXISTS (
            SELECT 1 FROM oxmill.queue_settings AS s WHERE s.queue = ANY (wanted) AND s.limits > 0
        )
        OR EXISTS (SELECT 1 FROM oxmill.asides AS a WHERE a.queue = ANY (wanted))
        OR EXISTS (SELECT 1 FROM oxmill.rules AS r WHERE r.scope <> 'queue')
        OR EXISTS (
            SELECT 1 FROM oxmill.rules AS r
            WHERE r.target = ANY (wanted) AND r.scope = 'queue' AND r.kind = 'throttle'
        )
        OR EXISTS (
            SELECT 1 FROM oxmill.meters AS m
            WHERE
                m.queue = ANY (wanted) AND m.scope = 'queue' AND m.target = ''
                AND m.closed_until > moment
        );
END
$$;
