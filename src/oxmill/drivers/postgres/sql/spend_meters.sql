-- The rates behind meters are used up until `tat`.
-- Parameters: arrays of queue, scope, target, tat and idle_at, in this order.
INSERT INTO oxmill.meters AS m (queue, scope, target, tat, closed_until, idle_at)
SELECT r.queue, r.scope, r.target, r.tat, 0, r.idle_at
FROM unnest(
    :queue::text[], :scope::text[], :target::text[], :tat::bigint[], :idle_at::bigint[]
) AS r (queue, scope, target, tat, idle_at)
ON CONFLICT (queue, scope, target) DO UPDATE SET
    tat = excluded.tat,
    idle_at = greatest(excluded.tat, m.closed_until);
