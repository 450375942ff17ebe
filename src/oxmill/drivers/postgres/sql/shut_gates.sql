-- Gates are shut until then, or for longer if they were to be.
-- Parameters: arrays of queue, scope, target, closed_until and idle_at, in this order.
INSERT INTO oxmill.meters AS m (queue, scope, target, tat, closed_until, idle_at)
SELECT r.queue, r.scope, r.target, 0, r.closed_until, r.idle_at
FROM unnest(
    :queue::text[], :scope::text[], :target::text[], :closed_until::bigint[], :idle_at::bigint[]
) AS r (queue, scope, target, closed_until, idle_at)
ORDER BY r.queue, r.scope, r.target
ON CONFLICT (queue, scope, target) DO UPDATE SET
    closed_until = greatest(m.closed_until, excluded.closed_until),
    idle_at = greatest(m.idle_at, excluded.closed_until);
