-- The shared state of these flows.
-- Parameters: ids, a JSON array.
-- Result: flow, name, value.
SELECT s.flow, s.name, s.value
FROM JSON_TABLE(:ids, '$[*]' COLUMNS (value VARBINARY(200) PATH '$')) AS asked
STRAIGHT_JOIN oxmill_flow_state AS s FORCE INDEX (PRIMARY) ON s.flow = asked.value;
