-- Waiting jobs go out under a new lease. The caller has locked them in this transaction.
-- Parameters: seqs, a JSON array; nonce, worker, now, lease, until.
UPDATE oxmill_jobs FORCE INDEX (PRIMARY) SET
    state = 'running',
    attempt = attempt + 1,
    nonce = :nonce,
    worker = :worker,
    claimed_at = :now,
    lease = :lease,
    lease_until = :until,
    reason = NULL,
    aside = NULL,
    last_outcome = NULL,
    slack = LEFT(slack, 24)
WHERE seq IN (:seqs*);
