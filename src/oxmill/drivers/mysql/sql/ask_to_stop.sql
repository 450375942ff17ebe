-- Running jobs are asked to stop; their holders learn it with their next renewal.
-- Parameters: seqs, a JSON array; reason.
UPDATE oxmill_jobs FORCE INDEX (PRIMARY) SET cancel_requested = 1, reason = :reason
WHERE seq IN (:seqs*);
