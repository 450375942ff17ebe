-- Stages go.
-- Parameters: names, a JSON array.
DELETE s
FROM JSON_TABLE(:names, '$[*]' COLUMNS (value VARBINARY(200) PATH '$')) AS asked
STRAIGHT_JOIN oxmill_stages AS s FORCE INDEX (PRIMARY) ON s.name = asked.value;
