-- Waiting jobs are set aside behind gates, or come back where that is NULL.
-- Parameters: arrays of aside and seq, in this order.
UPDATE oxmill.jobs AS j SET aside = r.aside
FROM unnest(:aside::text[], :seq::bigint[]) AS r (aside, seq)
WHERE j.seq = r.seq AND j.state = 'waiting';
