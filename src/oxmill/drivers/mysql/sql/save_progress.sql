-- Progress is saved with a renewal.
-- Parameters: progress, seq, in this order.
UPDATE oxmill_jobs SET progress = :progress WHERE seq = :seq;
