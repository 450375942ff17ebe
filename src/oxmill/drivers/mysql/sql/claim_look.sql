-- What comes in the way of a plain claim in one queue: whether it is closed; whether a job has fallen due, a
-- lease has ended or a job has expired; whether it may be gated. Each is the first entry of an index. What is
-- overdue is told by a column that is in no index: only so the server stops at the end of the range, else
-- it reads on through all that was just taken and ended, until that is purged.
-- Parameters: queue; place, which of the queues asked for it is.
SELECT
    EXISTS (
        SELECT 1 FROM oxmill_rules AS r
        WHERE
            r.target = :queue
            AND r.scope = 'queue'
            AND r.kind IN ('pause', 'block')
            AND (r.expires_at IS NULL OR r.expires_at > @oxmill_now)
    ),
    COALESCE(
        (
            SELECT d.due_at FROM oxmill_jobs AS d FORCE INDEX (oxmill_jobs_shelf)
            WHERE d.shelf = CONCAT('scheduled ', :queue) AND d.spot <= @oxmill_now
            ORDER BY d.spot LIMIT 1
        ),
        (
            SELECT l.lease_until FROM oxmill_jobs AS l FORCE INDEX (oxmill_jobs_shelf)
            WHERE l.shelf = CONCAT('running ', :queue) AND l.spot <= @oxmill_now
            ORDER BY l.spot LIMIT 1
        ),
        (
            SELECT e.expires_at FROM oxmill_jobs AS e FORCE INDEX (oxmill_jobs_expiry)
            WHERE e.queue = :queue AND e.expiry <= @oxmill_now
            ORDER BY e.expiry LIMIT 1
        )
    ) IS NOT NULL,
    EXISTS (
        SELECT 1 FROM oxmill_lanes AS l FORCE INDEX (oxmill_lanes_next)
        WHERE l.queue = :queue AND l.group_name <> ''
    )
    OR EXISTS (
        SELECT 1 FROM oxmill_lane_news AS n FORCE INDEX (oxmill_lane_news_of)
        WHERE n.queue = :queue
    )
    OR EXISTS (SELECT 1 FROM oxmill_queue_settings AS s WHERE s.queue = :queue AND s.limits > 0)
    OR EXISTS (
        SELECT 1 FROM oxmill_asides AS a FORCE INDEX (oxmill_asides_open) WHERE a.queue = :queue
    )
    OR EXISTS (
        SELECT 1 FROM oxmill_rules AS r FORCE INDEX (oxmill_rules_scope)
        WHERE r.scope IN ('task', 'group', 'field')
    )
    OR EXISTS (
        SELECT 1 FROM oxmill_rules AS t
        WHERE t.target = :queue AND t.scope = 'queue' AND t.kind = 'throttle'
    )
    OR EXISTS (
        SELECT 1 FROM oxmill_meters AS m
        WHERE m.queue = :queue AND m.scope = 'queue' AND m.target = '' AND m.closed_until > @oxmill_now
    )
INTO @oxmill_closed_:place, @oxmill_overdue_:place, @oxmill_gated_:place;
