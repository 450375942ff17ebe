-- Does what `join_lanes` does for those of the jobs just stored that wait and have a group.
CREATE OR REPLACE FUNCTION oxmill.join_lanes_of(ids text[]) RETURNS void
LANGUAGE plpgsql VOLATILE
SET jit = off
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
    groups text[];
    queues text[];
    priorities integer[];
    places bigint[];
BEGIN
    SELECT array_agg(f.group_name), array_agg(f.queue), array_agg(f.priority), array_agg(f.place)
    INTO groups, queues, priorities, places
    FROM (
        SELECT j.group_name, j.queue, j.priority, min(j.place) AS place
        FROM unnest(ids) AS a (id)
        JOIN oxmill.jobs AS j ON j.id = a.id
        WHERE j.state = 'waiting' AND j.group_name IS NOT NULL
        GROUP BY j.group_name, j.queue, j.priority
        ORDER BY min(j.place)
    ) AS f;
    IF groups IS NOT NULL THEN
        PERFORM oxmill.join_lanes(groups, queues, priorities, places);
    END IF;
END
$$;
