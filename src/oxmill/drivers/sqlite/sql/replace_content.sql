-- A job that has not started takes over new content. Identity, arrival and counts stay.
-- Whoever let the old content lapse must not come back and complete the new one.
-- Parameters: the columns, in this order.
UPDATE jobs SET
    queue = :queue,
    task = :task,
    state = :state,
    priority = :priority,
    due_at = :due_at,
    expires_at = :expires_at,
    max_attempts = :max_attempts,
    crash_limit = :crash_limit,
    keep = :keep,
    unique_key = :unique_key,
    group_name = :group_name,
    extras = :extras,
    payload = :payload,
    place = :place,
    aside = NULL,
    last_outcome = nullif(last_outcome, 'lapse')
WHERE seq = :seq;
