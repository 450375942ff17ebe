-- Forgets the history of jobs that go.
-- Parameters: jobs, a JSON array of seqs.
DELETE FROM attempts WHERE job IN (SELECT value FROM json_each(:jobs));
