-- These stages, as far as they are there.
-- Parameters: names, a JSON array.
-- Result: the columns of a stage.
SELECT s.name, s.flow, s.touched_at, s.published, s.live
FROM JSON_TABLE(:names, '$[*]' COLUMNS (value VARBINARY(200) PATH '$')) AS asked
STRAIGHT_JOIN oxmill_stages AS s FORCE INDEX (PRIMARY) ON s.name = asked.value;
