-- A job succeeds with a result. The caller has checked its token in this transaction.
-- Parameters: result, ended_at, prune_at, seq, in this order.
UPDATE oxmill_jobs SET
    state = 'succeeded',
    reason = NULL,
    last_outcome = 'complete',
    slack = NULL,
    lease_until = NULL,
    result = :result,
    ended_at = :ended_at,
    prune_at = :prune_at
WHERE seq = :seq;
