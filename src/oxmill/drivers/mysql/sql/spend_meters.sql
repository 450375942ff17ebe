-- The rate behind a meter is used up until `tat`.
-- Parameters: queue, scope, target, tat, idle_at, in this order.
INSERT INTO oxmill_meters (queue, scope, target, tat, closed_until, idle_at)
VALUES (:queue, :scope, :target, :tat, 0, :idle_at)
ON DUPLICATE KEY UPDATE
    tat = VALUES(tat),
    idle_at = GREATEST(VALUES(tat), closed_until);
