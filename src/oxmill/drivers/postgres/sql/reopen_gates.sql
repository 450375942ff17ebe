-- Gates that are shut until this very moment open. Who has shut them alone, and is gone or due, shuts them
-- no longer; see shut_gates.
-- Parameters: arrays of queue, scope, target and closed_until, in this order.
UPDATE oxmill.meters AS m SET closed_until = 0
FROM unnest(
    :queue::text[], :scope::text[], :target::text[], :closed_until::bigint[]
) AS r (queue, scope, target, closed_until)
WHERE
    m.queue = r.queue AND m.scope = r.scope AND m.target = r.target
    AND m.closed_until = r.closed_until;
