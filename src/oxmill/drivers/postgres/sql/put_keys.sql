-- Unique keys are held as given from now on. The caller has their locks.
-- Parameters: arrays of key, holder, live, hold_until and successor, in this order.
INSERT INTO oxmill.unique_keys (key, holder, live, hold_until, successor)
SELECT
    r.key, r.holder, r.live, r.hold_until, r.successor
FROM unnest(
    :key::text[], :holder::text[], :live::integer[], :hold_until::bigint[], :successor::text[]
) AS r (key, holder, live, hold_until, successor)
ON CONFLICT (key) DO UPDATE SET
    holder = excluded.holder,
    live = excluded.live,
    hold_until = excluded.hold_until,
    successor = excluded.successor;
