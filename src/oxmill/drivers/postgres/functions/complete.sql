-- What `complete_jobs` does, for the last version of the code.
-- Result: the number of each item that was settled, counted from 1, the queue of its job, and
-- whether that was kept.
CREATE OR REPLACE FUNCTION oxmill.complete(
    ids text[], attempts integer[], nonces bigint[], results bytea[], usual bigint,
    gone_first boolean, at bigint
) RETURNS TABLE (item integer, of_queue text, kept boolean)
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    RETURN QUERY
    SELECT c.item, c.of_queue, c.kept
    FROM oxmill.complete_jobs(ids, attempts, nonces, results, usual, gone_first, at) AS c;
END
$$;
