-- The best waiting jobs over several queues, locked; jobs that someone else is busy with are passed
-- over, and the next best take their place.
-- Result: at most `most` seqs.
CREATE OR REPLACE FUNCTION oxmill.best_of(
    opened text[], most integer, moment bigint, keyed text[]
) RETURNS bigint[]
LANGUAGE plpgsql VOLATILE
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
DECLARE
    tried bigint[] := '{}';
    batch bigint[];
    taken bigint[] := '{}';
    room integer := most;
BEGIN
    WHILE room > 0 LOOP
        batch := ARRAY(
            SELECT head.seq
            FROM unnest(opened) AS q (name)
            CROSS JOIN LATERAL (
                SELECT j.seq, j.priority, j.place FROM oxmill.jobs AS j
                WHERE
                    j.state = 'waiting' AND j.queue = q.name
                    AND (j.expires_at IS NULL OR j.expires_at > moment OR j.attempt > 0)
                    AND oxmill.free_to_start(j.unique_key, j.extras, keyed)
                    AND j.seq <> ALL (tried)
                ORDER BY j.priority, j.place
                LIMIT room
            ) AS head
            ORDER BY head.priority, head.place
            LIMIT room
        );
        EXIT WHEN cardinality(batch) = 0;
        taken := taken || ARRAY(
            SELECT j.seq FROM oxmill.jobs AS j
            WHERE j.seq = ANY (batch) AND j.state = 'waiting' AND j.queue = ANY (opened)
            ORDER BY j.seq
            FOR UPDATE SKIP LOCKED
        );
        tried := tried || batch;
        room := most - cardinality(taken);
    END LOOP;
    RETURN taken;
END
$$;
