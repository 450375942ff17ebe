-- The next jobs in order of arrival, newest first, whatever they are.
-- Parameters: below, a seq; most.
-- Result: seq.
SELECT j.seq
FROM oxmill_jobs AS j FORCE INDEX (PRIMARY)
WHERE j.seq < :below
ORDER BY j.seq DESC
LIMIT :most;
