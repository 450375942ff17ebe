-- What these jobs are after and has succeeded for them.
-- Parameters: seqs, a JSON array.
-- Result: dependent, upstream.
SELECT e.dependent, e.upstream
FROM json_each(:seqs) AS asked
CROSS JOIN edges AS e ON e.dependent = asked.value
WHERE e.round = 0 AND e.ok = 1;
