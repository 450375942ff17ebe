-- A plain job becomes a part of a flow.
-- Parameters: keep, extras, seq, in this order.
UPDATE oxmill_jobs SET keep = :keep, extras = :extras WHERE seq = :seq;
