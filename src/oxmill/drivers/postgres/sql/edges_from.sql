-- The edges of those that wait, or have waited, for these jobs.
-- Parameters: ids, a JSON array.
-- Result: upstream, dependent, ok.
SELECT e.upstream, e.dependent, e.ok
FROM json_array_elements_text(:ids::json) AS asked (value)
JOIN oxmill.edges AS e ON e.upstream = asked.value;
