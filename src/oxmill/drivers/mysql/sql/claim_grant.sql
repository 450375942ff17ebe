-- Jobs go out under a new lease. To be prepared with their seqs in place of the `?`: an UPDATE that
-- joins makes a temporary table on disk, and MariaDB 10.11 fails or crashes when a deadlock comes
-- in its way.
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
    aside = NULL,
    last_outcome = NULL,
    slack = LEFT(slack, 24)
WHERE seq IN (?);
