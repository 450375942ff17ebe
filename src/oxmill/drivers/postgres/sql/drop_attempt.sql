-- Forgets the recorded end of single attempts: their holders came back.
-- Parameters: arrays of job and attempt, in this order.
DELETE FROM oxmill.attempts AS a
USING unnest(:job::bigint[], :attempt::integer[]) AS r (job, attempt)
WHERE a.job = r.job AND a.attempt = r.attempt;
