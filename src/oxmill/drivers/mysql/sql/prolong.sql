-- Leases are prolonged; a job that only lapsed runs again. The caller has checked the tokens.
-- Parameters: seqs, a JSON array; lease, until.
UPDATE oxmill_jobs FORCE INDEX (PRIMARY) SET
    state = 'running',
    last_outcome = NULL,
    lease = :lease,
    lease_until = :until
WHERE seq IN (:seqs*);
