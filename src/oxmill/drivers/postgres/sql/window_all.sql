-- The next jobs in order of arrival, newest first, whatever they are.
-- Parameters: below, a seq; most.
-- Result: seq.
SELECT seq FROM oxmill.jobs WHERE seq < :below::bigint ORDER BY seq DESC LIMIT :most::bigint;
