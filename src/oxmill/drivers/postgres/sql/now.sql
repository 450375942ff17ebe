-- The server's clock, not the start of the transaction.
-- Result: microseconds since the epoch.
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
