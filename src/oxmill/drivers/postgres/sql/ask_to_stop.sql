-- Running jobs are asked to stop; their holders learn it with their next renewal.
-- Parameters: seqs, a JSON array; reason.
UPDATE oxmill.jobs AS j SET cancel_requested = 1, reason = :reason::text
FROM json_array_elements_text(:seqs::json) AS asked (value)
WHERE j.seq = asked.value::bigint;
