-- Lanes without jobs go. One that somebody is about to join stays; so does one that has been joined
-- since the claim looked.
CREATE OR REPLACE FUNCTION oxmill.drop_lanes(groups text[], queues text[], priorities integer[])
RETURNS void
LANGUAGE plpgsql VOLATILE
SET jit = off
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
    mine tid[];
BEGIN
    mine := ARRAY(
        SELECT l.ctid
        FROM oxmill.lanes AS l
        WHERE l.ctid = ANY (ARRAY(
            SELECT (
                SELECT o.ctid FROM oxmill.lanes AS o
                WHERE
                    o.group_name = a.group_name AND o.queue = a.queue AND o.priority = a.priority
            )
            FROM unnest(groups, queues, priorities) AS a (group_name, queue, priority)
        ))
        FOR UPDATE OF l SKIP LOCKED
    );
    DELETE FROM oxmill.lanes AS l
    WHERE
        l.ctid = ANY (mine)
        AND (
            SELECT j.seq FROM oxmill.jobs AS j
            WHERE
                j.state = 'waiting' AND j.group_name IS NOT NULL AND j.aside IS NULL
                AND j.queue = l.queue AND j.group_name = l.group_name AND j.priority = l.priority
            LIMIT 1
        ) IS NULL
        AND (
            SELECT j.seq FROM oxmill.jobs AS j
            WHERE
                l.group_name = ''
                AND j.state = 'waiting' AND j.group_name IS NULL AND j.aside IS NULL
                AND j.queue = l.queue AND j.priority = l.priority
            LIMIT 1
        ) IS NULL;
END
$$;
