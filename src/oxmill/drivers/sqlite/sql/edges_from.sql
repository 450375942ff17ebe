-- The edges of those that wait, or have waited, for these jobs.
-- Parameters: ids, a JSON array.
-- Result: upstream, dependent, ok.
SELECT e.upstream, e.dependent, e.ok
FROM json_each(:ids) AS asked
CROSS JOIN edges AS e INDEXED BY edges_below ON e.upstream = asked.value;
