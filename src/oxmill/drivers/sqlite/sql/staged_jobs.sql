-- The jobs that a stage holds, in order of arrival.
-- Parameters: stage, most.
-- Result: id.
SELECT n.id
FROM nodes AS n INDEXED BY nodes_stage
WHERE n.stage = :stage AND n.staged = 1
ORDER BY n.job
LIMIT :most;
