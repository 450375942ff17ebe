-- The next jobs with this field or, under the empty name, tag, newest first.
-- Parameters: name, value, below, a seq; most.
-- Result: seq.
SELECT job
FROM oxmill_fields
WHERE name = :name AND value = :value AND job < :below
ORDER BY job DESC
LIMIT :most;
