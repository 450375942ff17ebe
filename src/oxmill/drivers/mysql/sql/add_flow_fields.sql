-- Makes a flow findable by a field.
-- Parameters: name, value as JSON, flow, in this order.
INSERT IGNORE INTO oxmill_flow_fields (name, value, flow) VALUES (:name, :value, :flow);
