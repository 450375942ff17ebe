-- Microseconds since the epoch by the server's clock, unless a test gives another time.
CREATE OR REPLACE FUNCTION oxmill.clock(at bigint) RETURNS bigint
LANGUAGE sql VOLATILE
AS $$ SELECT coalesce(at, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) $$;
