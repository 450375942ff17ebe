-- The attempts of these jobs that did not end in success, oldest first for each job.
-- Parameters: jobs, a JSON array of seqs.
-- Result: job, attempt, worker, claimed_at, ended_at, outcome, error.
SELECT a.job, a.attempt, a.worker, a.claimed_at, a.ended_at, a.outcome, a.error
FROM oxmill_attempts AS a FORCE INDEX (PRIMARY)
WHERE a.job IN (:jobs*)
ORDER BY a.job, a.attempt;
