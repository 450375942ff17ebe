-- Records how attempts ended; a later end of the same attempt replaces it.
-- Parameters: arrays of the columns, in this order.
INSERT INTO oxmill.attempts (job, attempt, worker, claimed_at, ended_at, outcome, error)
SELECT
    r.job, r.attempt, r.worker, r.claimed_at, r.ended_at, r.outcome, r.error
FROM unnest(
    :job::bigint[], :attempt::integer[], :worker::text[], :claimed_at::bigint[],
    :ended_at::bigint[], :outcome::text[], :error::text[]
) AS r (job, attempt, worker, claimed_at, ended_at, outcome, error)
ON CONFLICT (job, attempt) DO UPDATE SET
    worker = excluded.worker,
    claimed_at = excluded.claimed_at,
    ended_at = excluded.ended_at,
    outcome = excluded.outcome,
    error = excluded.error;
