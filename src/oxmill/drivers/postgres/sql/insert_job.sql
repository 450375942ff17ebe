-- Stores new jobs, but for those whose id is taken.
-- Parameters: arrays of the columns, in this order.
-- Result: one row per job stored.
INSERT INTO oxmill.jobs (
    seq, id, place, enqueued_at, reason, queue, task, state, priority, due_at, expires_at,
    max_attempts, crash_limit, keep, unique_key, group_name, extras, payload
)
SELECT
    r.seq, r.id, r.place, r.enqueued_at, r.reason, r.queue, r.task, r.state, r.priority,
    r.due_at, r.expires_at, r.max_attempts, r.crash_limit, r.keep, r.unique_key, r.group_name,
    r.extras, r.payload
FROM unnest(
    :seq::bigint[], :id::text[], :place::bigint[], :enqueued_at::bigint[], :reason::text[],
    :queue::text[], :task::text[], :state::text[], :priority::integer[], :due_at::bigint[],
    :expires_at::bigint[], :max_attempts::integer[], :crash_limit::integer[], :keep::bigint[],
    :unique_key::text[], :group_name::text[], :extras::text[], :payload::bytea[]
) AS r (
    seq, id, place, enqueued_at, reason, queue, task, state, priority, due_at, expires_at,
    max_attempts, crash_limit, keep, unique_key, group_name, extras, payload
)
ON CONFLICT (id) DO NOTHING
RETURNING 1;
