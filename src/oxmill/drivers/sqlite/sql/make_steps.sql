-- Stores next steps of flows that differ in number and flow only and wait at once. None of them is there: the
-- caller has looked in this transaction.
-- Parameters: made, a JSON object of their numbers of arrival and flows; suffix, how their ids go on after
-- that of the flow; more, how their extras go on after the flow; now, and the columns that they have in common.
INSERT INTO jobs (
    seq, id, place, enqueued_at, queue, task, state, priority, due_at,
    max_attempts, crash_limit, keep, extras, payload
)
SELECT
    CAST(made.key AS INTEGER),
    made.value || :suffix,
    CAST(made.key AS INTEGER),
    :now,
    :queue,
    :task,
    :state,
    :priority,
    :now,
    :max_attempts,
    :crash_limit,
    :keep,
    '{"flow":' || json_quote(made.value) || :more,
    :payload
FROM json_each(:made) AS made;
