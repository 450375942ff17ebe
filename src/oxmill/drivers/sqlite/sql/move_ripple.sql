-- A ripple has come this far.
-- Parameters: past, n, in this order.
UPDATE ripples SET past = :past WHERE n = :n;
