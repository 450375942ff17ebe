-- Unique keys are held as given from now on. The caller has their locks.
-- Parameters: arrays of key, holder, live, hold_until and successor, in this order.
INSERT INTO oxmill.unique_keys (key, holder, live, hold_until, successor)
SELECT * FROM unnest(
    :key::text[], :holder::text[], :live::integer[], :hold_until::bigint[], :successor::text[]
)
ON CONFLICT (key) DO UPDATE SET
    holder = excluded.holder,
    live = excluded.live,
    hold_until = excluded.hold_until,
    successor = excluded.successor;
