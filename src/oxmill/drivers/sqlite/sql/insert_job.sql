-- Stores a new job, unless its id is taken.
-- Parameters: the columns, in this order.
INSERT INTO jobs (
    seq, id, place, enqueued_at, reason, queue, task, state, priority, due_at, expires_at,
    max_attempts, crash_limit, keep, unique_key, group_name, extras, payload
)
VALUES (
    :seq, :id, :place, :enqueued_at, :reason, :queue, :task, :state, :priority, :due_at,
    :expires_at, :max_attempts, :crash_limit, :keep, :unique_key, :group_name, :extras, :payload
)
ON CONFLICT (id) DO NOTHING;
