-- Jobs of a flow, in order of arrival.
-- Parameters: name, most.
-- Result: id.
SELECT n.id
FROM oxmill.nodes AS n
WHERE n.flow = :name::text
ORDER BY n.job
LIMIT :most::bigint;
