-- A gate is shut until then, or for longer if it was to be.
-- Parameters: queue, scope, target, closed_until, idle_at, in this order.
INSERT INTO oxmill_meters (queue, scope, target, tat, closed_until, idle_at)
VALUES (:queue, :scope, :target, 0, :closed_until, :idle_at)
ON DUPLICATE KEY UPDATE
    closed_until = GREATEST(closed_until, VALUES(closed_until)),
    idle_at = GREATEST(idle_at, VALUES(closed_until));
