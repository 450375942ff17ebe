-- The next jobs that ended in a state, in order of arrival, newest first.
-- Parameters: state, below, a seq; most.
-- Result: seq.
SELECT seq
FROM jobs INDEXED BY jobs_ended
WHERE
    state = :state
    AND (state = 'succeeded' OR state = 'failed' OR state = 'cancelled')
    AND seq < :below
ORDER BY seq DESC
LIMIT :most;
