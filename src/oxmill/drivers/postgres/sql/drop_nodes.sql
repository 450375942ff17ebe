-- Jobs are parts of their flows no longer.
-- Parameters: seqs, a JSON array.
DELETE FROM oxmill.nodes AS n
USING json_array_elements_text(:seqs::json) AS asked (value)
WHERE n.job = asked.value::bigint;
