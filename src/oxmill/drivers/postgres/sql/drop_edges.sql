-- Jobs go: what they waited for is forgotten.
-- Parameters: seqs, a JSON array.
DELETE FROM oxmill.edges AS e
USING json_array_elements_text(:seqs::json) AS asked (value)
WHERE e.dependent = asked.value::bigint;
