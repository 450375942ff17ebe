-- Running jobs are asked to stop; their holders learn it with their next renewal.
-- Parameters: seqs, a JSON array; reason.
UPDATE jobs SET cancel_requested = 1, reason = :reason
WHERE seq IN (SELECT value FROM json_each(:seqs));
