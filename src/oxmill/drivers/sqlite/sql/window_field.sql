-- The next jobs with this field or, under the empty name, tag, newest first.
-- Parameters: name; value, as JSON; below, a seq; most.
-- Result: seq.
SELECT job
FROM fields
WHERE name = :name AND value = json_extract(:value, '$') AND job < :below
ORDER BY job DESC
LIMIT :most;
