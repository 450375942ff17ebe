-- Due jobs join the end of the line.
-- Parameters: arrays of place and seq, in this order.
UPDATE oxmill.jobs AS j SET state = 'waiting', place = r.place
FROM unnest(:place::bigint[], :seq::bigint[]) AS r (place, seq)
WHERE j.seq = r.seq;
