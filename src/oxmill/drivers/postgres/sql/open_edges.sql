-- Open edges of these jobs, in the order asked, then in the order of arrival of the dependents.
-- They are locked: whoever else was closing them is done.
-- Parameters: ids, a JSON array; most.
-- Result: upstream, the dependent's id, round, position.
SELECT e.upstream, n.id, e.round, e.position
FROM json_array_elements_text(:ids::json) WITH ORDINALITY AS asked (value, number)
JOIN oxmill.edges AS e ON e.upstream = asked.value AND e.ok IS NULL
JOIN oxmill.nodes AS n ON n.job = e.dependent
ORDER BY asked.number, e.dependent
LIMIT :most::bigint
FOR UPDATE OF e;
