-- The priorities that a queue has open lanes of.
-- Parameters: queue.
-- Result: priority.
SELECT DISTINCT l.priority
FROM oxmill_lanes AS l FORCE INDEX (oxmill_lanes_next)
WHERE l.queue = :queue AND l.opens_at = 0
ORDER BY l.priority;
