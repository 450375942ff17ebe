-- A gate is shut until then. One that is shut already stays so for longer than both, by a microsecond, so
-- that it does not open when one of those who shut it leaves: see reopen_gates. A new meter has nothing used
-- up until now.
-- Parameters: queue, scope, target, now, closed_until, idle_at, in this order.
INSERT INTO meters (queue, scope, target, tat, closed_until, idle_at)
VALUES (:queue, :scope, :target, :now, :closed_until, :idle_at)
ON CONFLICT (queue, scope, target) DO UPDATE SET
    closed_until = CASE
        WHEN closed_until > excluded.tat THEN max(closed_until, excluded.closed_until) + 1
        ELSE excluded.closed_until
    END,
    idle_at = max(idle_at, closed_until + 1, excluded.closed_until + 1);
