-- Waiting jobs go out under a new lease. The caller has locked them in this transaction.
-- Parameters: seqs, a JSON array; nonce, worker, now, lease, until.
UPDATE oxmill.jobs AS j SET
    state = 'running',
    attempt = j.attempt + 1,
    nonce = :nonce::bigint,
    worker = :worker::text,
    claimed_at = :now::bigint,
    lease = :lease::bigint,
    lease_until = :until::bigint,
    reason = NULL,
    aside = NULL,
    last_outcome = NULL
FROM json_array_elements_text(:seqs::json) AS asked (value)
WHERE j.seq = asked.value::bigint;
