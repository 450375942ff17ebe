-- The rate behind a meter is used up until `tat`.
-- Parameters: queue, scope, target, tat, idle_at, in this order.
INSERT INTO meters (queue, scope, target, tat, closed_until, idle_at)
VALUES (:queue, :scope, :target, :tat, 0, :idle_at)
ON CONFLICT (queue, scope, target) DO UPDATE SET
    tat = excluded.tat,
    idle_at = max(excluded.tat, closed_until);
