-- A plain job becomes a part of a flow.
-- Parameters: keep, extras, seq, in this order.
UPDATE jobs SET keep = :keep, extras = :extras WHERE seq = :seq;
