-- What a job still waited for when its join was over, beyond a position.
-- Parameters: job, round, past, most.
-- Result: upstream, position.
SELECT e.upstream, e.position
FROM edges AS e INDEXED BY edges_round
WHERE e.dependent = :job AND e.round = :round AND e.position > :past AND e.ok IS NULL
ORDER BY e.position
LIMIT :most;
