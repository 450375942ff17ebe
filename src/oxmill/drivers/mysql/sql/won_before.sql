-- What these jobs are after and has succeeded for them.
-- Parameters: seqs, a JSON array.
-- Result: dependent, upstream.
SELECT e.dependent, e.upstream
FROM JSON_TABLE(:seqs, '$[*]' COLUMNS (value BIGINT PATH '$')) AS asked
STRAIGHT_JOIN oxmill_edges AS e FORCE INDEX (PRIMARY) ON e.dependent = asked.value
WHERE e.`round` = 0 AND e.ok = 1;
