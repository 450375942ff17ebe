-- Flows go; this is about their rows in `oxmill_flows`.
-- Parameters: ids, a JSON array.
DELETE f
FROM JSON_TABLE(:ids, '$[*]' COLUMNS (value VARBINARY(200) PATH '$')) AS asked
STRAIGHT_JOIN oxmill_flows AS f FORCE INDEX (oxmill_flows_id) ON f.id = asked.value;
