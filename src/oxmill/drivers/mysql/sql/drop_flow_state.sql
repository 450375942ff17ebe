-- Flows go; this is about their rows in `oxmill_flow_state`.
-- Parameters: ids, a JSON array.
DELETE s
FROM JSON_TABLE(:ids, '$[*]' COLUMNS (value VARBINARY(200) PATH '$')) AS asked
STRAIGHT_JOIN oxmill_flow_state AS s FORCE INDEX (PRIMARY) ON s.flow = asked.value;
