-- Stores a new job. A taken id is an error, and then nothing of the statement is stored.
-- Parameters: the columns but the last, in this order. That one is room for what its claim and its end
-- are going to write.
INSERT INTO oxmill_jobs (
    seq, id, place, enqueued_at, reason, queue, task, state, priority, due_at, expires_at,
    max_attempts, crash_limit, keep, unique_key, group_name, extras, payload, slack
)
VALUES (
    :seq, :id, :place, :enqueued_at, :reason, :queue, :task, :state, :priority, :due_at,
    :expires_at, :max_attempts, :crash_limit, :keep, :unique_key, :group_name, :extras, :payload,
    REPEAT('.', 80)
);
