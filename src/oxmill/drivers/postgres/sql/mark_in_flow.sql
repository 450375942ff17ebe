-- Plain jobs become parts of flows.
-- Parameters: arrays of keep, extras and seq, in this order.
UPDATE oxmill.jobs AS j SET keep = r.keep, extras = r.extras
FROM unnest(:keep::bigint[], :extras::text[], :seq::bigint[]) AS r (keep, extras, seq)
WHERE j.seq = r.seq;
