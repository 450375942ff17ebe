-- Waiting jobs go out under a new lease. The caller has read them in this transaction.
-- Parameters: seqs, a JSON array; nonce, worker, now, lease, until.
UPDATE jobs SET
    state = 'running',
    attempt = attempt + 1,
    nonce = :nonce,
    worker = :worker,
    claimed_at = :now,
    lease = :lease,
    lease_until = :until,
    reason = NULL,
    aside = NULL,
    last_outcome = NULL
WHERE seq IN (SELECT value FROM json_each(:seqs));
