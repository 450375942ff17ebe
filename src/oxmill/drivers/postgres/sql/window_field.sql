-- The next jobs with this field or, under the empty name, tag, newest first.
-- Parameters: name; value, as JSON; below, a seq; most.
-- Result: seq.
SELECT job
FROM oxmill.fields
WHERE name = :name::text AND value = :value::text AND job < :below::bigint
ORDER BY job DESC
LIMIT :most::bigint;
