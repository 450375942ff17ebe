-- The best waiting jobs over several queues, locked; jobs that someone else is busy with are passed
-- over, and the next best take their place.
-- Result: where they stand, at most `most` of them.
CREATE OR REPLACE FUNCTION oxmill.best_of(
    opened text[], above integer[], beyond bigint[], most integer, moment bigint, keyed text[]
) RETURNS tid[]
LANGUAGE plpgsql VOLATILE
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
DECLARE
    tried bigint[] := '{}';
    batch bigint[];
    taken tid[] := '{}';
    room integer := most;
BEGIN
    WHILE room > 0 LOOP
        batch := ARRAY(
            SELECT head.seq
            FROM unnest(opened, above, beyond) AS q (name, priority, place)
            CROSS JOIN LATERAL (
                SELECT j.seq, j.priority, j.place FROM oxmill.jobs AS j
                WHERE
                    j.state = 'waiting' AND j.group_name IS NULL AND j.aside IS NULL
                    AND j.queue = q.name
                    AND (j.priority, j.place) > (q.priority, q.place)
                    AND (j.expires_at IS NULL OR j.expires_at > moment OR j.attempt > 0)
                    AND (j.unique_key IS NULL OR oxmill.free_to_start(j.unique_key, j.extras, keyed))
                    AND j.seq <> ALL (tried)
                ORDER BY j.priority, j.place
                LIMIT room
            ) AS head
            ORDER BY head.priority, head.place
            LIMIT room
        );
        EXIT WHEN cardinality(batch) = 0;
        taken := taken || ARRAY(
            WITH had AS MATERIALIZED (
                SELECT j.ctid AS at, j.state, j.queue, j.group_name, j.aside FROM oxmill.jobs AS j
                WHERE j.seq = ANY (batch)
                ORDER BY j.seq
                FOR UPDATE SKIP LOCKED
            )
            SELECT had.at FROM had
            WHERE
                had.state = 'waiting' AND had.queue = ANY (opened)
                AND had.group_name IS NULL AND had.aside IS NULL
        );
        tried := tried || batch;
        room := most - cardinality(taken);
    END LOOP;
    RETURN taken;
END
$$;
