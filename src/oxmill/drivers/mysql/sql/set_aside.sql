-- A waiting job is set aside behind a gate, or comes back if that is NULL.
-- Parameters: aside, seq, in this order.
UPDATE oxmill_jobs SET aside = :aside WHERE seq = :seq AND state = 'waiting';
