-- Flows end with their last live job, all alike.
-- Parameters: seqs, a JSON array; now, prune_at, failed.
UPDATE flows SET live = 0, ended_at = :now, prune_at = :prune_at, failed = :failed
WHERE seq IN (SELECT value FROM json_each(:seqs));
