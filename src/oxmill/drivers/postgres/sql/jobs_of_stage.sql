-- Jobs of a stage that was not published, ended ones included, in order of arrival.
-- Parameters: name, most.
-- Result: id.
SELECT n.id
FROM oxmill.nodes AS n
WHERE n.stage = :name::text
ORDER BY n.job
LIMIT :most::bigint;
