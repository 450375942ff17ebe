-- Due jobs of these queues join the end of the line, in the order of their due times; at most
-- `bound` of each queue. Those that someone else is busy with are left to them.
CREATE OR REPLACE FUNCTION oxmill.fall_due(wanted text[], moment bigint, bound integer)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
DECLARE
    each text;
BEGIN
    FOREACH each IN ARRAY wanted LOOP
        WITH due AS MATERIALIZED (
            SELECT j.seq FROM oxmill.jobs AS j
            WHERE j.state = 'scheduled' AND j.queue = each AND j.due_at <= moment
            ORDER BY j.due_at, j.seq
            LIMIT bound
            FOR UPDATE SKIP LOCKED
        ), placed AS MATERIALIZED (
            SELECT due.seq, nextval('oxmill.numbers') AS place FROM due
        ), joined AS (
            UPDATE oxmill.jobs AS j SET state = 'waiting', place = p.place
            FROM placed AS p
            WHERE j.seq = p.seq
            RETURNING j.group_name, j.priority, j.place
        ), joining AS (
            SELECT oxmill.join_lanes(
                array_agg(c.group_name), array_agg(each), array_agg(c.priority), array_agg(c.place)
            )
            FROM (
                SELECT i.group_name, i.priority, min(i.place) AS place
                FROM joined AS i
                WHERE i.group_name IS NOT NULL
                GROUP BY i.group_name, i.priority
            ) AS c
            HAVING count(*) > 0
        )
        INSERT INTO oxmill.count_changes (queue, name, n, total)
        SELECT each, s.name, s.sign * c.n, 0
        FROM
            (SELECT count(*) AS n FROM joined) AS c,
            (SELECT count(*) FROM joining) AS told,
            (VALUES ('scheduled', -1), ('waiting', 1)) AS s (name, sign)
        WHERE c.n > 0;
    END LOOP;
END
$$;
