-- Gates are shut until then. One that is shut already stays so for longer than both, by a microsecond, so
-- that it does not open when one of those who shut it leaves: see reopen_gates. A new meter has nothing used
-- up until now.
-- Parameters: arrays of queue, scope, target, now, closed_until and idle_at, in this order.
INSERT INTO oxmill.meters AS m (queue, scope, target, tat, closed_until, idle_at)
SELECT r.queue, r.scope, r.target, r.now, r.closed_until, r.idle_at
FROM unnest(
    :queue::text[], :scope::text[], :target::text[], :now::bigint[], :closed_until::bigint[],
    :idle_at::bigint[]
) AS r (queue, scope, target, now, closed_until, idle_at)
ORDER BY r.queue, r.scope, r.target
ON CONFLICT (queue, scope, target) DO UPDATE SET
    closed_until = CASE
        WHEN m.closed_until > excluded.tat
            THEN greatest(m.closed_until, excluded.closed_until) + 1
        ELSE excluded.closed_until
    END,
    idle_at = greatest(m.idle_at, m.closed_until + 1, excluded.closed_until + 1);
