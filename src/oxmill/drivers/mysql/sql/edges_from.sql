-- The edges of those that wait, or have waited, for these jobs.
-- Parameters: ids, a JSON array.
-- Result: upstream, dependent, ok.
SELECT e.upstream, e.dependent, e.ok
FROM JSON_TABLE(:ids, '$[*]' COLUMNS (value VARBINARY(200) PATH '$')) AS asked
STRAIGHT_JOIN oxmill_edges AS e FORCE INDEX (oxmill_edges_below) ON e.upstream = asked.value;
