-- Open edges of these jobs, in the order asked, then in the order of arrival of the dependents.
-- Parameters: ids, a JSON array; most.
-- Result: upstream, the dependent's id, round, position.
SELECT e.upstream, n.id, e.`round`, e.position
FROM JSON_TABLE(
    :ids, '$[*]' COLUMNS (number FOR ORDINALITY, value VARBINARY(200) PATH '$')
) AS asked
STRAIGHT_JOIN oxmill_edges AS e FORCE INDEX (oxmill_edges_below)
    ON e.upstream = asked.value AND e.ok IS NULL
STRAIGHT_JOIN oxmill_nodes AS n FORCE INDEX (PRIMARY) ON n.job = e.dependent
ORDER BY asked.number, e.dependent
LIMIT :most;
