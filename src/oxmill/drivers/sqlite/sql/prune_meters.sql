-- Meters that say nothing any more go, the oldest first.
-- Parameters: now, most.
DELETE FROM meters WHERE (queue, scope, target) IN (
    SELECT queue, scope, target FROM meters INDEXED BY meters_idle
    WHERE idle_at <= :now
    ORDER BY idle_at
    LIMIT :most
);
