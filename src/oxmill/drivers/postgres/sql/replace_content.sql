-- Jobs that have not started take over new content. Identity, arrival and counts stay.
-- Whoever let the old content lapse must not come back and complete the new one.
-- Parameters: arrays of the columns, in this order.
UPDATE oxmill.jobs AS j SET
    queue = r.queue,
    task = r.task,
    state = r.state,
    priority = r.priority,
    due_at = r.due_at,
    expires_at = r.expires_at,
    max_attempts = r.max_attempts,
    crash_limit = r.crash_limit,
    keep = r.keep,
    unique_key = r.unique_key,
    group_name = r.group_name,
    extras = r.extras,
    payload = r.payload,
    place = r.place,
    aside = NULL,
    last_outcome = nullif(j.last_outcome, 'lapse')
FROM unnest(
    :queue::text[], :task::text[], :state::text[], :priority::integer[], :due_at::bigint[],
    :expires_at::bigint[], :max_attempts::integer[], :crash_limit::integer[], :keep::bigint[],
    :unique_key::text[], :group_name::text[], :extras::text[], :payload::bytea[],
    :place::bigint[], :seq::bigint[]
) AS r (
    queue, task, state, priority, due_at, expires_at, max_attempts, crash_limit, keep,
    unique_key, group_name, extras, payload, place, seq
)
WHERE j.seq = r.seq;
