-- Flows go; this is about their rows in `flow_state`.
-- Parameters: ids, a JSON array.
DELETE FROM oxmill.flow_state AS t
USING json_array_elements_text(:ids::json) AS asked (value)
WHERE t.flow = asked.value;
