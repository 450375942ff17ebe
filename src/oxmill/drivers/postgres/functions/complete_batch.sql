-- Running jobs succeed whose token is right and whose end concerns nobody else: no unique key is
-- given back. Everything else is left to the caller. `usual` is the retention of queues without
-- settings. Jobs not to be kept are deleted; `gone_first` if most of them are likely to be such.
-- Result: the items that were settled, together those of one queue that fared alike: the queue of their
-- jobs, whether these were kept, whether others may start because they run no longer, and the numbers
-- of the items, counted from 1, in no order. A row per item would be copied at every step of its way.
CREATE OR REPLACE FUNCTION oxmill.complete_batch(
    ids text[], attempts integer[], nonces bigint[], results bytea[], usual bigint,
    gone_first boolean, at bigint
) RETURNS TABLE (of_queue text, kept boolean, frees boolean, items integer[])
LANGUAGE plpgsql VOLATILE
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
    moment bigint := coalesce(at, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
    special boolean := EXISTS (SELECT 1 FROM oxmill.queue_settings);
    missing integer := cardinality(ids);
    keeping boolean;
BEGIN
    FOREACH keeping IN ARRAY ARRAY[NOT gone_first, gone_first] LOOP
        EXIT WHEN missing = 0;
        FOR of_queue, kept, frees, items IN
            SELECT e.of_queue, keeping, special AND coalesce((
                SELECT s.limits & CASE WHEN e.grouped THEN 6 ELSE 2 END > 0
                FROM oxmill.queue_settings AS s WHERE s.queue = e.of_queue
            ), false), e.items
            FROM (
                SELECT g.of_queue, g.grouped, g.items
                FROM oxmill.end_gone(ids, attempts, nonces, usual, special) AS g
                WHERE NOT keeping
                UNION ALL
                SELECT k.of_queue, k.grouped, k.items
                FROM oxmill.end_kept(
                    ids, attempts, nonces, results, usual, special, moment
                ) AS k
                WHERE keeping
            ) AS e
        LOOP
            missing := missing - cardinality(items);
            RETURN NEXT;
        END LOOP;
    END LOOP;
END
$$;
