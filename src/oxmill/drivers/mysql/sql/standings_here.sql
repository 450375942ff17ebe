-- What is needed to decide about these jobs. Each is looked up by itself, so that at REPEATABLE READ
-- nothing beside those that are there is locked.
-- Parameters: ids, a JSON array.
-- Result: the columns of a standing, one row per job that is there.
SELECT
    j.seq, j.id, j.queue, j.state, j.priority, j.place, j.due_at, j.enqueued_at,
    j.expires_at, j.attempt, j.nonce, j.failures, j.crashes, j.max_attempts, j.crash_limit,
    j.claimed_at, j.worker, j.reason, j.cancel_requested, j.last_outcome, j.keep, j.unique_key,
    j.extras, j.group_name
FROM oxmill_jobs AS j FORCE INDEX (oxmill_jobs_id)
WHERE j.id IN (:ids*);
