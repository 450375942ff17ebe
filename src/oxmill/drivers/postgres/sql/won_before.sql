-- What these jobs are after and has succeeded for them.
-- Parameters: seqs, a JSON array.
-- Result: dependent, upstream.
SELECT e.dependent, e.upstream
FROM json_array_elements_text(:seqs::json) AS asked (value)
JOIN oxmill.edges AS e ON e.dependent = asked.value::bigint
WHERE e.round = 0 AND e.ok = 1;
