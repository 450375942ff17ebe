-- The best of the jobs at the heads of the lines go out under a new lease.
-- Parameters: heads, as SQL; nonce, worker, lease.
UPDATE
    (:heads) AS head
    STRAIGHT_JOIN oxmill_jobs AS j FORCE INDEX (PRIMARY) ON j.seq = head.seq
SET
    j.state = 'running',
    j.attempt = j.attempt + 1,
    j.nonce = :nonce,
    j.worker = :worker,
    j.claimed_at = @oxmill_now,
    j.lease = :lease,
    j.lease_until = @oxmill_now + :lease,
    j.reason = NULL,
    j.last_outcome = NULL;
