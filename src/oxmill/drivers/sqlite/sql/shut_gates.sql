-- A gate is shut until then, or for longer if it was to be.
-- Parameters: queue, scope, target, closed_until, idle_at, in this order.
INSERT INTO meters (queue, scope, target, tat, closed_until, idle_at)
VALUES (:queue, :scope, :target, 0, :closed_until, :idle_at)
ON CONFLICT (queue, scope, target) DO UPDATE SET
    closed_until = max(closed_until, excluded.closed_until),
    idle_at = max(idle_at, excluded.closed_until);
