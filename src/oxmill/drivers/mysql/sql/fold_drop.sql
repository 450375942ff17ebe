-- Changes that were added up go.
-- Parameters: numbers, a JSON array.
DELETE c
FROM JSON_TABLE(:numbers, '$[*]' COLUMNS (value BIGINT PATH '$')) AS asked
STRAIGHT_JOIN oxmill_changes AS c FORCE INDEX (PRIMARY) ON c.number = asked.value;
