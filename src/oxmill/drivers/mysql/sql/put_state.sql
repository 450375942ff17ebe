-- A field of a flow's state has this value from now on.
-- Parameters: flow, name, value, in this order.
INSERT INTO oxmill_flow_state (flow, name, value)
VALUES (:flow, :name, :value)
ON DUPLICATE KEY UPDATE value = VALUES(value);
