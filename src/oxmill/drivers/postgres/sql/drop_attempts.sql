-- Forgets the history of jobs that go.
-- Parameters: jobs, a JSON array of seqs.
DELETE FROM oxmill.attempts AS a
USING json_array_elements_text(:jobs::json) AS asked (value)
WHERE a.job = asked.value::bigint;
