-- Jobs go. Their history, fields and keys are seen to by the caller.
-- Parameters: seqs, a JSON array.
DELETE FROM oxmill.jobs AS j
USING json_array_elements_text(:seqs::json) AS asked (value)
WHERE j.seq = asked.value::bigint;
