-- Jobs go out under a new lease. To be prepared with their seqs in place of the `?`: an UPDATE of
-- one table by a list of keys takes half the time of one that joins, and MariaDB 10.11 has crashed
-- when such a join met a deadlock.
-- Parameters: nonce, worker, lease.
UPDATE oxmill_jobs FORCE INDEX (PRIMARY) SET
    state = 'running',
    attempt = attempt + 1,
    nonce = :nonce,
    worker = :worker,
    claimed_at = @oxmill_now,
    lease = :lease,
    lease_until = @oxmill_now + :lease,
    reason = NULL,
    last_outcome = NULL
WHERE seq IN (?);
