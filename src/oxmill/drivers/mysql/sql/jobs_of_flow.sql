-- Jobs of a flow, in order of arrival.
-- Parameters: name, most.
-- Result: id.
SELECT n.id
FROM oxmill_nodes AS n FORCE INDEX (oxmill_nodes_flow)
WHERE n.flow = :name
ORDER BY n.job
LIMIT :most;
