-- Jobs of a flow, in order of arrival.
-- Parameters: name, most.
-- Result: id.
SELECT n.id
FROM nodes AS n INDEXED BY nodes_flow
WHERE n.flow = :name
ORDER BY n.job
LIMIT :most;
