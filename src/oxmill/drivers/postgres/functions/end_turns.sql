-- What has become of the lanes that a claim has served: those `kept` go behind all others, in this order;
-- those that are `gone` are dropped, unless somebody joins them. Either may be NULL for none.
CREATE OR REPLACE FUNCTION oxmill.end_turns(
    wanted text, kept text[], kept_priorities integer[], gone text[], gone_priorities integer[]
) RETURNS void
LANGUAGE plpgsql VOLATILE
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
BEGIN
    IF kept IS NOT NULL THEN
        WITH drawn AS MATERIALIZED (
            SELECT k.name, k.priority, nextval('oxmill.numbers') AS turn
            FROM unnest(kept, kept_priorities) AS k (name, priority)
        )
        UPDATE oxmill.lanes AS l SET turn = d.turn, served = 0
        FROM drawn AS d
        WHERE l.group_name = d.name AND l.queue = wanted AND l.priority = d.priority;
    END IF;
    IF gone IS NOT NULL THEN
        PERFORM oxmill.drop_lanes(
            gone, array_fill(wanted, ARRAY[cardinality(gone)]), gone_priorities
        );
    END IF;
END
$$;
