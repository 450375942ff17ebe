-- Leases are prolonged; a job that only lapsed runs again. The caller has checked the tokens.
-- Parameters: seqs, a JSON array; lease, until.
UPDATE oxmill.jobs AS j SET
    state = 'running',
    last_outcome = NULL,
    lease = :lease::bigint,
    lease_until = :until::bigint
FROM json_array_elements_text(:seqs::json) AS asked (value)
WHERE j.seq = asked.value::bigint;
