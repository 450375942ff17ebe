-- The next jobs that ended in a state, in order of arrival, newest first.
-- Parameters: state, below, a seq; most.
-- Result: seq.
SELECT seq
FROM oxmill.jobs
WHERE
    state = :state::text
    AND state IN ('succeeded', 'failed', 'cancelled')
    AND seq < :below::bigint
ORDER BY seq DESC
LIMIT :most::bigint;
