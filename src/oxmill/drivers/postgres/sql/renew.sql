-- Prolongs leases; see the function of that name.
-- Parameters: arrays of ids, attempts, nonces and progress; lease; at, the time, or NULL for the
-- server's.
-- Result: item, stop, moment; the last row has only the moment.
SELECT item, stop, moment
FROM oxmill.renew(
    :ids::text[], :attempts::integer[], :nonces::bigint[], :progress::bytea[], :lease::bigint,
    :at::bigint
);
