-- When to look again at gates behind which jobs of a queue are set aside.
-- Parameters: arrays of gate, queue and opens_at, in this order.
INSERT INTO oxmill.asides (gate, queue, opens_at)
SELECT r.gate, r.queue, r.opens_at
FROM unnest(:gate::text[], :queue::text[], :opens_at::bigint[]) AS r (gate, queue, opens_at)
ON CONFLICT (gate, queue) DO UPDATE SET opens_at = excluded.opens_at;
