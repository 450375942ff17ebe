-- A field of a flow's state has this value from now on.
-- Parameters: flow, name, value, in this order.
INSERT OR REPLACE INTO flow_state (flow, name, value) VALUES (:flow, :name, :value);
