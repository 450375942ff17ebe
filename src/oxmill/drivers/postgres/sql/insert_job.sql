-- Stores new jobs, but for those whose id is taken.
-- Parameters: arrays of the columns, in this order.
-- Result: one row per job stored.
INSERT INTO oxmill.jobs (
    seq, id, place, enqueued_at, reason, queue, task, state, priority, due_at, expires_at,
    max_attempts, crash_limit, keep, unique_key, group_name, extras, payload
)
SELECT * FROM unnest(
    :seq::bigint[], :id::text[], :place::bigint[], :enqueued_at::bigint[], :reason::text[],
    :queue::text[], :task::text[], :state::text[], :priority::integer[], :due_at::bigint[],
    :expires_at::bigint[], :max_attempts::integer[], :crash_limit::integer[], :keep::bigint[],
    :unique_key::text[], :group_name::text[], :extras::text[], :payload::bytea[]
)
ON CONFLICT (id) DO NOTHING
RETURNING 1;
