-- Fields of flows' states have these values from now on.
-- Parameters: arrays of flow, name and value, in this order; no field comes twice.
INSERT INTO oxmill.flow_state (flow, name, value)
SELECT r.flow, r.name, r.value
FROM unnest(:flow::text[], :name::text[], :value::bytea[]) AS r (flow, name, value)
ON CONFLICT (flow, name) DO UPDATE SET value = excluded.value;
