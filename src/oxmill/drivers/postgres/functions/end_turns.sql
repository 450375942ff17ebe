-- What has become of the lanes that a claim has served: those `kept` go behind all others, in this order;
-- those that are `gone` are dropped, unless somebody joins them. Either may be NULL for none.
-- Each lane is looked up by itself: a join is planned for as many lanes as there were at first.
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
            SELECT
                nextval('oxmill.numbers') AS turn,
                (
                    SELECT l.ctid FROM oxmill.lanes AS l
                    WHERE l.group_name = k.name AND l.queue = wanted AND l.priority = k.priority
                ) AS at
            FROM unnest(kept, kept_priorities) AS k (name, priority)
        )
        UPDATE oxmill.lanes AS l SET turn = d.turn, served = 0
        FROM drawn AS d
        WHERE l.ctid = d.at;
    END IF;
    IF gone IS NOT NULL THEN
        PERFORM oxmill.drop_lanes(
            gone, array_fill(wanted, ARRAY[cardinality(gone)]), gone_priorities
        );
    END IF;
END
$$;
