-- These lanes of a queue stand aside, each until its moment. Each is looked up by itself: a join is
-- planned for as many lanes as there were at first.
CREATE OR REPLACE FUNCTION oxmill.park_lanes(
    wanted text, names text[], priorities integer[], moments bigint[]
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
    WITH parked AS MATERIALIZED (
        SELECT
            p.until,
            (
                SELECT l.ctid FROM oxmill.lanes AS l
                WHERE l.group_name = p.name AND l.queue = wanted AND l.priority = p.priority
            ) AS at
        FROM unnest(names, priorities, moments) AS p (name, priority, until)
    )
    UPDATE oxmill.lanes AS l SET opens_at = p.until, behind = NULL
    FROM parked AS p
    WHERE l.ctid = p.at;
END
$$;
