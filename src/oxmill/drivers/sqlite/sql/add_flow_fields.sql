-- Makes a flow findable by a field.
-- Parameters: name, value as JSON, flow, in this order.
INSERT OR IGNORE INTO flow_fields (name, value, flow) VALUES (:name, :value, :flow);
