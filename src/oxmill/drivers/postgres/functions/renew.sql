-- Prolongs the leases of running jobs whose token is the newest, and saves progress with them where
-- some is given. Everything else is left to the caller.
-- Result: the number of each lease that was kept, counted from 1, whether its job is asked to stop,
-- and now.
CREATE OR REPLACE FUNCTION oxmill.renew(
    ids text[], attempts integer[], nonces bigint[], saved bytea[], length bigint, at bigint
) RETURNS TABLE (item integer, stop integer, moment bigint)
LANGUAGE plpgsql VOLATILE
SET jit = off
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
    present bigint := coalesce(at, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
BEGIN
    RETURN QUERY
    UPDATE oxmill.jobs AS j SET
        lease = length,
        lease_until = present + length,
        progress = coalesce(a.progress, j.progress)
    FROM unnest(ids, attempts, nonces, saved) WITH ORDINALITY
        AS a (id, attempt, nonce, progress, number)
    WHERE
        j.id = a.id AND j.state = 'running' AND j.attempt = a.attempt AND j.nonce = a.nonce
    RETURNING a.number::integer, j.cancel_requested, present;
    RETURN QUERY SELECT NULL::integer, NULL::integer, present;
END
$$;
