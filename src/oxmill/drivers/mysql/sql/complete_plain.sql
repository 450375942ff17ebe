-- Plain successes are recorded, if all of them are plain.
-- Parameters: ids, a JSON array.
UPDATE oxmill_jobs FORCE INDEX (oxmill_jobs_id) SET
    state = 'succeeded',
    reason = NULL,
    last_outcome = 'complete',
    slack = NULL,
    lease_until = NULL,
    ended_at = @oxmill_now,
    prune_at = @oxmill_now + COALESCE(keep, @oxmill_keep)
WHERE @oxmill_ready AND id IN (:ids*);
