-- For each queue asked about: whether it is closed, whether any job waits in the plain line, the
-- earliest moment at which a job falls due, a lease ends or a job expires, and whether it may be gated: by
-- groups, limits, jobs set aside, rules on anything but queues, throttles, or because a job has shut it.
-- Each is the first entry of an index.
-- Parameters: queues, a JSON array; now.
-- Result: queue, closed, waiting, due_at, lease_until, expires_at, gated.
SELECT
    asked.value,
    EXISTS (
        SELECT 1 FROM oxmill_rules AS r
        WHERE
            r.target = asked.value
            AND r.scope = 'queue'
            AND r.kind IN ('pause', 'block')
            AND (r.expires_at IS NULL OR r.expires_at > :now)
    ),
    EXISTS (
        SELECT 1 FROM oxmill_jobs AS w FORCE INDEX (oxmill_jobs_shelf)
        WHERE w.shelf = CONCAT('waiting ', asked.value)
    ),
    (
        SELECT d.spot FROM oxmill_jobs AS d FORCE INDEX (oxmill_jobs_shelf)
        WHERE d.shelf = CONCAT('scheduled ', asked.value)
        ORDER BY d.spot LIMIT 1
    ),
    (
        SELECT l.spot FROM oxmill_jobs AS l FORCE INDEX (oxmill_jobs_shelf)
        WHERE l.shelf = CONCAT('running ', asked.value)
        ORDER BY l.spot LIMIT 1
    ),
    (
        SELECT NULLIF(e.expiry, 9223372036854775807)
        FROM oxmill_jobs AS e FORCE INDEX (oxmill_jobs_expiry)
        WHERE e.queue = asked.value
        ORDER BY e.expiry LIMIT 1
    ),
    EXISTS (
        SELECT 1 FROM oxmill_lanes AS l FORCE INDEX (oxmill_lanes_next)
        WHERE l.queue = asked.value AND l.group_name <> ''
    )
    OR EXISTS (
        SELECT 1 FROM oxmill_lane_news AS n FORCE INDEX (oxmill_lane_news_of)
        WHERE n.queue = asked.value
    )
    OR EXISTS (SELECT 1 FROM oxmill_queue_settings AS s WHERE s.queue = asked.value AND s.limits > 0)
    OR EXISTS (
        SELECT 1 FROM oxmill_asides AS a FORCE INDEX (oxmill_asides_open) WHERE a.queue = asked.value
    )
    OR EXISTS (
        SELECT 1 FROM oxmill_rules AS r FORCE INDEX (oxmill_rules_scope)
        WHERE r.scope IN ('task', 'group', 'field')
    )
    OR EXISTS (
        SELECT 1 FROM oxmill_rules AS t
        WHERE t.target = asked.value AND t.scope = 'queue' AND t.kind = 'throttle'
    )
    OR EXISTS (
        SELECT 1 FROM oxmill_meters AS m
        WHERE m.queue = asked.value AND m.scope = 'queue' AND m.target = '' AND m.closed_until > :now
    )
FROM JSON_TABLE(
    :queues, '$[*]' COLUMNS (value VARBINARY(200) PATH '$')
) AS asked;
