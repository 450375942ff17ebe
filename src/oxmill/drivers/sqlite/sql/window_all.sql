-- The next jobs in order of arrival, newest first, whatever they are.
-- Parameters: below, a seq; most.
-- Result: seq.
SELECT seq FROM jobs WHERE seq < :below ORDER BY seq DESC LIMIT :most;
