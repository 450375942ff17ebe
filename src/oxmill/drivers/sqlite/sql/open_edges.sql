-- Open edges of these jobs, in the order asked, then in the order of arrival of the dependents.
-- Parameters: ids, a JSON array; most.
-- Result: upstream, the dependent's id, round, position.
SELECT e.upstream, n.id, e.round, e.position
FROM json_each(:ids) AS asked
CROSS JOIN edges AS e INDEXED BY edges_open ON e.upstream = asked.value AND e.ok IS NULL
CROSS JOIN nodes AS n ON n.job = e.dependent
ORDER BY asked.key, e.dependent
LIMIT :most;
