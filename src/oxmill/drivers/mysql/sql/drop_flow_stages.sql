-- Flows go; this is about their rows in `oxmill_stages`.
-- Parameters: ids, a JSON array.
DELETE s
FROM JSON_TABLE(:ids, '$[*]' COLUMNS (value VARBINARY(200) PATH '$')) AS asked
STRAIGHT_JOIN oxmill_stages AS s FORCE INDEX (oxmill_stages_flow) ON s.flow = asked.value;
