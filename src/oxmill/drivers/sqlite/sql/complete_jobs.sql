-- Jobs succeed without a result. The caller has checked their tokens in this transaction.
-- Parameters: seqs, a JSON array; now; prune_at.
UPDATE jobs SET
    state = 'succeeded',
    reason = NULL,
    last_outcome = 'complete',
    lease_until = NULL,
    ended_at = :now,
    prune_at = :prune_at
WHERE seq IN (SELECT value FROM json_each(:seqs));
