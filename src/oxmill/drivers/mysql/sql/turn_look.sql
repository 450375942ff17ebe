-- Whether a claim behind the gates of one queue is of the usual kind: its settings are those that are known,
-- nothing is to be seen to before it, no rule matters, and the limits have room for all jobs it asks for. Whoever
-- looks holds the gates. Each is a row found by its key, or the first entries of an index.
-- Parameters: queue; settings, as they are known, or NULL; slots, interval and burst, what they limit, or
-- NULL; most, how many jobs are asked for; never, later than any moment.
SELECT
    @oxmill_ready
    AND s.settings <=> :settings
    AND COALESCE(m.closed_until, 0) <= @oxmill_now
    AND COALESCE(
        :burst - (GREATEST(COALESCE(m.tat, 0) - @oxmill_now, 0) + :interval - 1) DIV :interval, :most
    ) >= :most
    AND NOT EXISTS (
        SELECT 1 FROM oxmill_lane_news AS n FORCE INDEX (oxmill_lane_news_of)
        WHERE n.queue = :queue
    )
    AND NOT EXISTS (
        SELECT 1 FROM oxmill_rules AS r WHERE r.target = :queue AND r.scope = 'queue'
    )
    AND NOT EXISTS (
        SELECT 1 FROM oxmill_rules AS r FORCE INDEX (oxmill_rules_scope)
        WHERE r.scope IN ('task', 'group', 'field')
    )
    AND NOT EXISTS (
        SELECT 1 FROM oxmill_asides AS a FORCE INDEX (oxmill_asides_open) WHERE a.queue = :queue
    )
    AND NOT EXISTS (
        SELECT 1 FROM oxmill_jobs AS w FORCE INDEX (oxmill_jobs_shelf)
        WHERE w.shelf = CONCAT('waiting ', :queue)
    )
    AND COALESCE(
        (
            SELECT d.spot FROM oxmill_jobs AS d FORCE INDEX (oxmill_jobs_shelf)
            WHERE d.shelf = CONCAT('scheduled ', :queue)
            ORDER BY d.spot LIMIT 1
        ),
        :never
    ) > @oxmill_now
    AND COALESCE(
        (
            SELECT l.spot FROM oxmill_jobs AS l FORCE INDEX (oxmill_jobs_shelf)
            WHERE l.shelf = CONCAT('running ', :queue)
            ORDER BY l.spot LIMIT 1
        ),
        :never
    ) > @oxmill_now
    AND COALESCE(
        (
            SELECT e.expiry FROM oxmill_jobs AS e FORCE INDEX (oxmill_jobs_expiry)
            WHERE e.queue = :queue
            ORDER BY e.expiry LIMIT 1
        ),
        :never
    ) > @oxmill_now
    AND COALESCE(
        (
            SELECT MIN(p.opens_at) FROM oxmill_lanes AS p FORCE INDEX (oxmill_lanes_next)
            WHERE p.queue = :queue AND p.opens_at > 0
        ),
        :never
    ) > @oxmill_now
    AND (
        :slots IS NULL
        OR :slots - (
            SELECT COUNT(*) FROM oxmill_jobs AS j FORCE INDEX (oxmill_jobs_shelf)
            WHERE j.shelf = CONCAT('running ', :queue)
        ) >= :most
    ),
    GREATEST(COALESCE(m.tat, 0), @oxmill_now)
INTO @oxmill_ready, @oxmill_tat
FROM (SELECT 1) AS one
LEFT JOIN oxmill_queue_settings AS s ON s.queue = :queue
LEFT JOIN oxmill_meters AS m ON m.queue = :queue AND m.scope = 'queue' AND m.target = '';
