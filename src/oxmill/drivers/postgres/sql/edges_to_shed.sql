-- What a job still waited for when its join was over, beyond a position.
-- Parameters: job, round, past, most.
-- Result: upstream, position.
SELECT e.upstream, e.position
FROM oxmill.edges AS e
WHERE
    e.dependent = :job::bigint AND e.round = :round::integer
    AND e.position > :past::integer AND e.ok IS NULL
ORDER BY e.position
LIMIT :most::bigint;
