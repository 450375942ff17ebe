-- The attempts of these jobs that did not end in success, oldest first for each job.
-- Parameters: jobs, a JSON array of seqs.
-- Result: job, attempt, worker, claimed_at, ended_at, outcome, error.
SELECT a.job, a.attempt, a.worker, a.claimed_at, a.ended_at, a.outcome, a.error
FROM json_array_elements_text(:jobs::json) WITH ORDINALITY AS asked (value, number)
JOIN oxmill.attempts AS a ON a.job = asked.value::bigint
ORDER BY asked.number, a.attempt;
