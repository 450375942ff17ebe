-- Jobs succeed without a result. The caller has checked their tokens in this transaction.
-- Parameters: seqs, a JSON array; now; prune_at.
UPDATE oxmill_jobs FORCE INDEX (PRIMARY) SET
    state = 'succeeded',
    reason = NULL,
    last_outcome = 'complete',
    slack = NULL,
    lease_until = NULL,
    ended_at = :now,
    prune_at = :prune_at
WHERE seq IN (:seqs*);
