-- Progress is saved with a renewal.
-- Parameters: arrays of progress and seq, in this order.
UPDATE oxmill.jobs AS j SET progress = r.progress
FROM unnest(:progress::bytea[], :seq::bigint[]) AS r (progress, seq)
WHERE j.seq = r.seq;
