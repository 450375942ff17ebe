-- What a claim behind the gates of one queue must know before it comes to any lane. Whoever reads it holds
-- the gates. Each is a row found by its key, or the first entries of an index. Of rules and jobs set aside it
-- is only told whether there are any: they are read by themselves.
-- Parameters: queue.
-- Result: settings and limits, or NULL; tat and closed_until of its meter, or NULL; whether there are rules
-- on it; whether there are any on tasks, groups or fields; whether any job waits in the plain line; the
-- earliest moment at which a job falls due, a lease ends or a job expires; whether it has lanes of groups;
-- the earliest moment at which a closed lane is to be looked at; whether jobs may be set aside; how many of
-- its jobs run, if its settings limit that (2), else NULL.
SELECT
    s.settings, s.limits, m.tat, m.closed_until,
    EXISTS (SELECT 1 FROM oxmill_rules AS r WHERE r.target = :queue AND r.scope = 'queue'),
    EXISTS (
        SELECT 1 FROM oxmill_rules AS r FORCE INDEX (oxmill_rules_scope)
        WHERE r.scope IN ('task', 'group', 'field')
    ),
    EXISTS (
        SELECT 1 FROM oxmill_jobs AS w FORCE INDEX (oxmill_jobs_shelf)
        WHERE w.shelf = CONCAT('waiting ', :queue)
    ),
    (
        SELECT d.spot FROM oxmill_jobs AS d FORCE INDEX (oxmill_jobs_shelf)
        WHERE d.shelf = CONCAT('scheduled ', :queue)
        ORDER BY d.spot LIMIT 1
    ),
    (
        SELECT l.spot FROM oxmill_jobs AS l FORCE INDEX (oxmill_jobs_shelf)
        WHERE l.shelf = CONCAT('running ', :queue)
        ORDER BY l.spot LIMIT 1
    ),
    (
        SELECT NULLIF(e.expiry, 9223372036854775807)
        FROM oxmill_jobs AS e FORCE INDEX (oxmill_jobs_expiry)
        WHERE e.queue = :queue
        ORDER BY e.expiry LIMIT 1
    ),
    EXISTS (
        SELECT 1 FROM oxmill_lanes AS g FORCE INDEX (oxmill_lanes_next)
        WHERE g.queue = :queue AND g.group_name <> ''
    ),
    (
        SELECT MIN(p.opens_at) FROM oxmill_lanes AS p FORCE INDEX (oxmill_lanes_next)
        WHERE p.queue = :queue AND p.opens_at > 0
    ),
    EXISTS (
        SELECT 1 FROM oxmill_asides AS a FORCE INDEX (oxmill_asides_open) WHERE a.queue = :queue
    ),
    CASE WHEN s.limits & 2 THEN (
        SELECT COUNT(*) FROM oxmill_jobs AS j FORCE INDEX (oxmill_jobs_shelf)
        WHERE j.shelf = CONCAT('running ', :queue)
    ) END
FROM (SELECT 1) AS one
LEFT JOIN oxmill_queue_settings AS s ON s.queue = :queue
LEFT JOIN oxmill_meters AS m ON m.queue = :queue AND m.scope = 'queue' AND m.target = '';
