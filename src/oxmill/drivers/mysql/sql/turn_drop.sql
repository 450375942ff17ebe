-- Those of them that gave their last job go. Who joins one meanwhile tells the next claim, which makes it again.
-- Parameters: queue.
DELETE FROM oxmill_lanes
WHERE
    @oxmill_ready
    AND @oxmill_emptied
    AND queue = :queue
    AND opens_at = 0
    AND priority = @oxmill_priority
    AND turn > @oxmill_first
    AND NOT EXISTS (
        SELECT 1 FROM oxmill_jobs AS h FORCE INDEX (oxmill_jobs_shelf)
        WHERE
            h.shelf = CONCAT('lane ', :queue, X'00', oxmill_lanes.group_name)
            AND h.spot = oxmill_lanes.priority
    );
