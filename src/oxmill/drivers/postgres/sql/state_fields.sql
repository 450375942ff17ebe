-- Those of the fields named that the states of these flows have.
-- Parameters: ids, names, JSON arrays.
-- Result: flow, name, value.
SELECT s.flow, s.name, s.value
FROM json_array_elements_text(:ids::json) AS asked (value)
JOIN oxmill.flow_state AS s ON s.flow = asked.value
WHERE s.name = ANY (ARRAY(SELECT json_array_elements_text(:names::json)));
