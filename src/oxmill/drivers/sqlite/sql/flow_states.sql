-- The shared state of these flows.
-- Parameters: ids, a JSON array.
-- Result: flow, name, value.
SELECT s.flow, s.name, s.value
FROM json_each(:ids) AS asked
CROSS JOIN flow_state AS s ON s.flow = asked.value;
