-- Writes back what was decided about a job that is not running any more, or not yet.
-- It stands in its lane again if it waits. An error or result that is not given stays as it is.
-- Parameters: the columns, in this order.
UPDATE oxmill_jobs SET
    queue = :queue,
    state = :state,
    priority = :priority,
    place = :place,
    due_at = :due_at,
    failures = :failures,
    crashes = :crashes,
    reason = :reason,
    cancel_requested = :cancel_requested,
    last_outcome = :last_outcome,
    lease_until = NULL,
    aside = NULL,
    ended_at = :ended_at,
    prune_at = :prune_at,
    error = COALESCE(:error, error),
    result = COALESCE(:result, result)
WHERE seq = :seq;
