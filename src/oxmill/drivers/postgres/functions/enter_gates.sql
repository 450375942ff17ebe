-- A claim comes to the gates of these queues: it alone, until its transaction has ended. What has
-- happened to their lanes since the last one is taken in. News that are not committed yet come
-- with a later claim, and so do the jobs they tell about.
CREATE OR REPLACE FUNCTION oxmill.enter_gates(wanted text[]) RETURNS void
LANGUAGE plpgsql VOLATILE
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
DECLARE
    news oxmill.lane_news[];
BEGIN
    PERFORM oxmill.hold_gates(wanted);
    WITH gone AS (
        DELETE FROM oxmill.lane_news AS n WHERE n.queue = ANY (wanted) RETURNING n
    )
    SELECT array_agg(g.n ORDER BY (g.n).number) INTO news FROM gone AS g;
    IF news IS NULL THEN
        RETURN;
    END IF;
    IF EXISTS (SELECT 1 FROM oxmill.lanes AS l WHERE l.opens_at > 0 AND l.queue = ANY (wanted)) THEN
        -- Each is looked up by itself: a join is planned for as many lanes as there were at first.
        UPDATE oxmill.lanes AS l SET opens_at = 0, behind = NULL
        WHERE l.ctid = ANY (ARRAY(
            SELECT o.at
            FROM (
                SELECT DISTINCT f.group_name, n.queue
                FROM unnest(news) AS n
                CROSS JOIN LATERAL unnest(n.freed) AS f (group_name)
            ) AS freed
            CROSS JOIN LATERAL (
                SELECT p.ctid AS at, p.opens_at FROM oxmill.lanes AS p
                WHERE p.group_name = freed.group_name AND p.queue = freed.queue
                OFFSET 0
            ) AS o
            WHERE o.opens_at > 0
        ));
    END IF;
    INSERT INTO oxmill.lanes AS l (group_name, queue, priority, turn)
    SELECT DISTINCT ON (n.group_name, n.queue, n.priority)
        n.group_name, n.queue, n.priority, n.place
    FROM unnest(news) AS n
    WHERE n.place IS NOT NULL
    ORDER BY n.group_name, n.queue, n.priority, n.number
    ON CONFLICT (group_name, queue, priority) DO UPDATE SET opens_at = 0, behind = NULL
    WHERE l.behind IS NOT NULL;
END
$$;
