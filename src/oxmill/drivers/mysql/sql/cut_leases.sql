-- Leases granted later than now, by a clock that was stepped back since, get their full length
-- from now.
-- Parameters: seqs, a JSON array; now, tolerance.
UPDATE oxmill_jobs FORCE INDEX (PRIMARY) SET lease_until = :now + lease
WHERE seq IN (:seqs*) AND state = 'running' AND lease_until - lease > :now + :tolerance;
