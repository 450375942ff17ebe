-- What `complete_batch` does, for the last version of the code.
-- Result: the number of each item that was settled, counted from 1, the queue of its job, whether that
-- was kept, and whether others may start because it runs no longer.
CREATE OR REPLACE FUNCTION oxmill.complete_jobs(
    ids text[], attempts integer[], nonces bigint[], results bytea[], usual bigint,
    gone_first boolean, at bigint
) RETURNS TABLE (item integer, of_queue text, kept boolean, frees boolean)
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    RETURN QUERY
    SELECT i.number, c.of_queue, c.kept, c.frees
    FROM oxmill.complete_batch(ids, attempts, nonces, results, usual, gone_first, at) AS c
    CROSS JOIN LATERAL unnest(c.items) AS i (number);
END
$$;
