-- A plain success with a result is recorded, if all successes beside it are plain.
-- Parameters: result, id, in this order.
UPDATE oxmill_jobs FORCE INDEX (oxmill_jobs_id) SET
    state = 'succeeded',
    reason = NULL,
    last_outcome = 'complete',
    slack = NULL,
    lease_until = NULL,
    ended_at = @oxmill_now,
    prune_at = @oxmill_now + COALESCE(keep, @oxmill_keep),
    result = :result
WHERE @oxmill_ready AND id = :id;
