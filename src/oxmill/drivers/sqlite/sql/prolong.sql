-- Leases are prolonged; a job that only lapsed runs again. The caller has checked the tokens.
-- Parameters: seqs, a JSON array; lease, until.
UPDATE jobs SET state = 'running', last_outcome = NULL, lease = :lease, lease_until = :until
WHERE seq IN (SELECT value FROM json_each(:seqs));
