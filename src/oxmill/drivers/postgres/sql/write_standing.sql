-- Writes back what was decided about jobs that are not running any more, or not yet.
-- They stand in their lanes again if they wait. An error or result that is not given stays as it is.
-- Parameters: arrays of the columns, in this order.
UPDATE oxmill.jobs AS j SET
    queue = r.queue,
    state = r.state,
    priority = r.priority,
    place = r.place,
    due_at = r.due_at,
    failures = r.failures,
    crashes = r.crashes,
    reason = r.reason,
    cancel_requested = r.cancel_requested,
    last_outcome = r.last_outcome,
    lease_until = NULL,
    aside = NULL,
    ended_at = r.ended_at,
    prune_at = r.prune_at,
    error = coalesce(r.error, j.error),
    result = coalesce(r.result, j.result)
FROM unnest(
    :queue::text[], :state::text[], :priority::integer[], :place::bigint[], :due_at::bigint[],
    :failures::integer[], :crashes::integer[], :reason::text[], :cancel_requested::integer[],
    :last_outcome::text[], :ended_at::bigint[], :prune_at::bigint[], :error::text[],
    :result::bytea[], :seq::bigint[]
) AS r (
    queue, state, priority, place, due_at, failures, crashes, reason, cancel_requested,
    last_outcome, ended_at, prune_at, error, result, seq
)
WHERE j.seq = r.seq;
