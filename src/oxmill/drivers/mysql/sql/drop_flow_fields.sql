-- Flows go; this is about their rows in `oxmill_flow_fields`.
-- Parameters: ids, a JSON array.
DELETE f
FROM JSON_TABLE(:ids, '$[*]' COLUMNS (value VARBINARY(200) PATH '$')) AS asked
STRAIGHT_JOIN oxmill_flow_fields AS f FORCE INDEX (oxmill_flow_fields_of) ON f.flow = asked.value;
