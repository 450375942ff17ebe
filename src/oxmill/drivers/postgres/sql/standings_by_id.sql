-- What is needed to decide about these jobs.
-- Parameters: ids, a JSON array.
-- Result: the columns of a standing, one row per job that is there.
SELECT
    j.seq, j.id, j.queue, j.state, j.priority, j.place, j.due_at, j.enqueued_at,
    j.expires_at, j.attempt, j.nonce, j.failures, j.crashes, j.max_attempts, j.crash_limit,
    j.claimed_at, j.worker, j.reason, j.cancel_requested, j.last_outcome, j.keep, j.unique_key,
    j.extras, j.group_name
FROM json_array_elements_text(:ids::json) AS asked (value)
JOIN oxmill.jobs AS j ON j.id = asked.value
ORDER BY j.seq;
