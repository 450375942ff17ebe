-- Due jobs join the end of the line.
-- Parameters: place, seq, in this order.
UPDATE oxmill_jobs SET state = 'waiting', place = :place WHERE seq = :seq;
