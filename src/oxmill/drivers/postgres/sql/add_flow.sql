-- Flows begin, unless they are there.
-- Parameters: arrays of the columns, in this order.
-- Result: one row per flow that is new.
INSERT INTO oxmill.flows (id, name, started_at, keep, fields)
SELECT r.id, r.name, r.started_at, r.keep, r.fields
FROM unnest(
    :id::text[], :name::text[], :started_at::bigint[], :keep::bigint[], :fields::text[]
) AS r (id, name, started_at, keep, fields)
ON CONFLICT (id) DO NOTHING
RETURNING 1;
