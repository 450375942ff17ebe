-- Jobs in full, in the order asked; unknown ids are left out.
-- Parameters: ids, a JSON array.
-- Result: the columns that `job_of` reads.
SELECT
    j.seq, j.cancel_requested, j.error, j.extras, j.last_outcome, j.id, j.queue, j.task, j.state,
    j.payload, j.priority, j.attempt, j.failures, j.crashes, j.max_attempts, j.crash_limit,
    j.enqueued_at, j.due_at, j.expires_at, j.claimed_at, j.lease_until, j.ended_at, j.worker,
    j.reason, j.result, j.progress, j.group_name, j.unique_key
FROM JSON_TABLE(
    :ids, '$[*]' COLUMNS (number FOR ORDINALITY, value VARBINARY(200) PATH '$')
) AS asked
STRAIGHT_JOIN oxmill_jobs AS j FORCE INDEX (oxmill_jobs_id) ON j.id = asked.value
ORDER BY asked.number;
