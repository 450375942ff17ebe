-- Ripples have come this far.
-- Parameters: arrays of past and n, in this order.
UPDATE oxmill.ripples AS w SET past = r.past
FROM unnest(:past::integer[], :n::bigint[]) AS r (past, n)
WHERE w.n = r.n;
