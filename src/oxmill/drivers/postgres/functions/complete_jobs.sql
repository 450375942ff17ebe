-- Running jobs succeed whose token is right and whose end concerns nobody else: no unique key is
-- given back. Everything else is left to the caller. `usual` is the retention of queues without
-- settings. Jobs not to be kept are deleted; `gone_first` if most of them are likely to be such.
-- Result: the number of each item that was settled, counted from 1, the queue of its job, whether that
-- was kept, and whether others may start because it runs no longer.
CREATE OR REPLACE FUNCTION oxmill.complete_jobs(
    ids text[], attempts integer[], nonces bigint[], results bytea[], usual bigint,
    gone_first boolean, at bigint
) RETURNS TABLE (item integer, of_queue text, kept boolean, frees boolean)
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    moment bigint := coalesce(at, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
    special boolean := EXISTS (SELECT 1 FROM oxmill.queue_settings);
    settled integer := 0;
BEGIN
    IF gone_first THEN
        RETURN QUERY
        SELECT g.item, g.of_queue, g.kept, special AND coalesce((
            SELECT s.limits & CASE WHEN g.of_group IS NULL THEN 2 ELSE 6 END > 0
            FROM oxmill.queue_settings AS s WHERE s.queue = g.of_queue
        ), false)
        FROM oxmill.complete_gone(ids, attempts, nonces, usual, special) AS g;
        GET DIAGNOSTICS settled = ROW_COUNT;
    END IF;
    IF settled < cardinality(ids) THEN
        RETURN QUERY
        SELECT k.item, k.of_queue, k.kept, special AND coalesce((
            SELECT s.limits & CASE WHEN k.of_group IS NULL THEN 2 ELSE 6 END > 0
            FROM oxmill.queue_settings AS s WHERE s.queue = k.of_queue
        ), false)
        FROM oxmill.complete_kept(
            ids, attempts, nonces, results, usual, special, moment
        ) AS k;
        GET DIAGNOSTICS settled = ROW_COUNT;
        IF NOT gone_first AND settled < cardinality(ids) THEN
            RETURN QUERY
            SELECT g.item, g.of_queue, g.kept, special AND coalesce((
                SELECT s.limits & CASE WHEN g.of_group IS NULL THEN 2 ELSE 6 END > 0
                FROM oxmill.queue_settings AS s WHERE s.queue = g.of_queue
            ), false)
            FROM oxmill.complete_gone(ids, attempts, nonces, usual, special) AS g;
        END IF;
    END IF;
END
$$;
