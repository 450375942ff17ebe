-- Jobs of a stage that was not published, ended ones included, in order of arrival.
-- Parameters: name, most.
-- Result: id.
SELECT n.id
FROM nodes AS n INDEXED BY nodes_stage
WHERE n.stage = :name
ORDER BY n.job
LIMIT :most;
