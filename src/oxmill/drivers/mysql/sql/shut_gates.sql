-- A gate is shut until then. One that is shut already stays so for longer than both, by a microsecond, so
-- that it does not open when one of those who shut it leaves: see reopen_gates. A new meter has nothing used
-- up until now.
-- Parameters: queue, scope, target, now, closed_until, idle_at, in this order.
INSERT INTO oxmill_meters (queue, scope, target, tat, closed_until, idle_at)
VALUES (:queue, :scope, :target, :now, :closed_until, :idle_at)
ON DUPLICATE KEY UPDATE
    idle_at = GREATEST(idle_at, closed_until + 1, VALUES(closed_until) + 1),
    closed_until = IF(
        closed_until > VALUES(tat), GREATEST(closed_until, VALUES(closed_until)) + 1, VALUES(closed_until)
    );
