-- The jobs that a stage holds, in order of arrival.
-- Parameters: stage, most.
-- Result: id.
SELECT n.id
FROM oxmill.nodes AS n
WHERE n.stage = :stage::text AND n.staged = 1
ORDER BY n.job
LIMIT :most::bigint;
