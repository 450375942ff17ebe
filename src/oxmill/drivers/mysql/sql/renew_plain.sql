-- Leases are prolonged, if all of them can be.
-- Parameters: ids, a JSON array; lease.
UPDATE oxmill_jobs FORCE INDEX (oxmill_jobs_id) SET
    lease = :lease,
    lease_until = @oxmill_now + :lease
WHERE @oxmill_ready AND id IN (:ids*);
