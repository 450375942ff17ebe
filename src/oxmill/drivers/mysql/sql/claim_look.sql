-- What comes next in one queue: whether it is closed, and the earliest moment at which a job falls
-- due, a lease ends or a job expires. Each is the first entry of an index.
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
        SELECT e.expiry FROM oxmill_jobs AS e FORCE INDEX (oxmill_jobs_expiry)
        WHERE e.queue = :queue
        ORDER BY e.expiry LIMIT 1
    )
INTO @oxmill_closed_:place, @oxmill_due_:place, @oxmill_lease_:place, @oxmill_expiry_:place;
