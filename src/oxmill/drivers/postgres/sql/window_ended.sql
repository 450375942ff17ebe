-- The next jobs that ended in a state, in order of arrival, newest first. Written so that only the
-- index of ended jobs is in this order: through that of all jobs it would pass all that run or wait.
-- Parameters: state, below, a seq; most.
-- Result: seq.
SELECT seq
FROM oxmill.jobs
WHERE
    state IN ('succeeded', 'failed', 'cancelled')
    AND state >= :state::text
    AND (state, seq) < (:state::text, :below::bigint)
ORDER BY state DESC, seq DESC
LIMIT :most::bigint;
