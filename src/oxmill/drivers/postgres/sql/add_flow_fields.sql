-- Makes flows findable by a field.
-- Parameters: arrays of name, value as JSON, and flow, in this order.
INSERT INTO oxmill.flow_fields (name, value, flow)
SELECT r.name, r.value, r.flow
FROM unnest(:name::text[], :value::text[], :flow::text[]) AS r (name, value, flow)
ON CONFLICT (name, value, flow) DO NOTHING;
