-- Plain successes with results are recorded, if all successes beside them are plain.
-- Parameters: ids and results, as SQL: lists in the same order.
UPDATE oxmill_jobs FORCE INDEX (oxmill_jobs_id) SET
    state = 'succeeded',
    reason = NULL,
    last_outcome = 'complete',
    slack = NULL,
    lease_until = NULL,
    ended_at = @oxmill_now,
    prune_at = @oxmill_now + COALESCE(keep, @oxmill_keep),
    result = ELT(FIELD(id, :ids), :results)
WHERE @oxmill_ready AND id IN (:ids);
