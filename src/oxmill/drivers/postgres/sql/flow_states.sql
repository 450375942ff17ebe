-- The shared state of these flows.
-- Parameters: ids, a JSON array.
-- Result: flow, name, value.
SELECT s.flow, s.name, s.value
FROM json_array_elements_text(:ids::json) AS asked (value)
JOIN oxmill.flow_state AS s ON s.flow = asked.value;
