-- The next jobs that ended in a state, in order of arrival, newest first.
-- Parameters: state, below, a seq; most.
-- Result: seq.
SELECT j.spot
FROM oxmill_jobs AS j FORCE INDEX (oxmill_jobs_shelf)
WHERE j.shelf = :state AND j.spot < :below
ORDER BY j.spot DESC
LIMIT :most;
