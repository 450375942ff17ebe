-- Meters that say nothing any more go, the oldest first.
-- Parameters: now, most.
DELETE FROM oxmill_meters WHERE idle_at <= :now ORDER BY idle_at, queue, scope, target LIMIT :most;
