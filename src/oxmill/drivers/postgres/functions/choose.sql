-- The next jobs of a gated queue, at most `room` of them: better priority first, between lanes of one
-- priority one job in turn, within a lane by place. The lanes of no group are made before, as in
-- `plain_lanes`. A little more is read than needed: at first of each lane its share and one job,
-- which tells whether others are left; more of those that give all that was read.
-- Result: `seqs` of the jobs in the order of serving, with the `names` of their groups and their
-- priorities; lanes that have `kept` jobs, in the order in which their last turns ended, and those that
-- are `gone`: they gave their last job, or it was their turn and they were empty. All NULL
-- if a group is shut, or if so many lanes are empty that it takes more than one look.
CREATE OR REPLACE FUNCTION oxmill.choose(
    wanted text, room integer, moment bigint,
    OUT seqs bigint[], OUT names text[], OUT priorities integer[],
    OUT kept text[], OUT kept_priorities integer[], OUT gone text[], OUT gone_priorities integer[]
)
LANGUAGE plpgsql VOLATILE
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
    more CONSTANT integer := 8;
    lanes text[];
    ranks integer[];
    depths integer[];
    dry integer[];
    filled integer;
    lane integer;
BEGIN
    WITH RECURSIVE heads (priority, place) AS (
        (
            SELECT j.priority, j.place FROM oxmill.jobs AS j
            WHERE
                j.state = 'waiting' AND j.group_name IS NULL AND j.aside IS NULL
                AND j.queue = wanted
            ORDER BY j.priority, j.place LIMIT 1
        )
        UNION ALL
        SELECT n.priority, n.place
        FROM heads AS h
        CROSS JOIN LATERAL (
            SELECT j.priority, j.place FROM oxmill.jobs AS j
            WHERE
                j.state = 'waiting' AND j.group_name IS NULL AND j.aside IS NULL
                AND j.queue = wanted AND j.priority > h.priority
            ORDER BY j.priority, j.place LIMIT 1
        ) AS n
    )
    INSERT INTO oxmill.lanes (group_name, queue, priority, turn)
    SELECT '', wanted, h.priority, h.place FROM heads AS h
    ON CONFLICT (group_name, queue, priority) DO NOTHING;
    IF room <= 0 THEN
        seqs := '{}';
        RETURN;
    END IF;
    SELECT
        array_agg(o.group_name ORDER BY o.number), array_agg(o.priority ORDER BY o.number)
    INTO lanes, ranks
    FROM (
        SELECT
            l.group_name, l.priority,
            row_number() OVER (ORDER BY l.priority, l.turn, l.group_name) AS number
        FROM oxmill.lanes AS l
        WHERE l.opens_at = 0 AND l.queue = wanted
        ORDER BY l.priority, l.turn, l.group_name
        LIMIT room + more
    ) AS o;
    IF lanes IS NULL THEN
        seqs := '{}';
        RETURN;
    END IF;
    IF EXISTS (
        SELECT 1
        FROM unnest(lanes) AS a (name)
        JOIN oxmill.meters AS m ON m.queue = wanted AND m.scope = 'group' AND m.target = a.name
        WHERE m.closed_until > moment
    ) THEN
        RETURN;
    END IF;
    depths := array_fill((room - 1) / cardinality(lanes) + 2, ARRAY[cardinality(lanes)]);
    LOOP
        WITH heads AS MATERIALIZED (
            SELECT
                a.lane, a.name, a.priority, a.depth,
                CASE WHEN a.name = '' THEN ARRAY(
                    SELECT j.seq FROM oxmill.jobs AS j
                    WHERE
                        j.state = 'waiting' AND j.group_name IS NULL AND j.aside IS NULL
                        AND j.queue = wanted AND j.priority = a.priority
                        AND (j.expires_at IS NULL OR j.expires_at > moment OR j.attempt > 0)
                    ORDER BY j.place
                    LIMIT a.depth
                ) ELSE ARRAY(
                    SELECT j.seq FROM oxmill.jobs AS j
                    WHERE
                        j.state = 'waiting' AND j.group_name IS NOT NULL AND j.aside IS NULL
                        AND j.queue = wanted AND j.group_name = a.name
                        AND j.priority = a.priority
                        AND (j.expires_at IS NULL OR j.expires_at > moment OR j.attempt > 0)
                    ORDER BY j.place
                    LIMIT a.depth
                ) END AS jobs
            FROM unnest(lanes, ranks, depths) WITH ORDINALITY AS a (name, priority, depth, lane)
        ), line AS MATERIALIZED (
            SELECT
                h.lane, h.name, h.priority, h.depth, u.seq, u.nth,
                row_number() OVER (ORDER BY h.priority, u.nth, h.lane) AS number
            FROM heads AS h
            CROSS JOIN LATERAL unnest(h.jobs) WITH ORDINALITY AS u (seq, nth)
        ), chosen AS MATERIALIZED (
            SELECT c.lane, c.name, c.priority, c.seq, c.nth, c.number
            FROM line AS c WHERE c.number <= room
        ), sums AS MATERIALIZED (
            SELECT
                c.lane, c.name, c.priority, c.depth, count(*) AS found,
                count(*) FILTER (WHERE c.number <= room) AS given,
                max(c.number) FILTER (WHERE c.number <= room) AS ended
            FROM line AS c
            GROUP BY c.lane, c.name, c.priority, c.depth
        ), ends AS MATERIALIZED (
            SELECT s.name, s.priority, s.lane FROM sums AS s WHERE s.given = s.found
            UNION ALL
            SELECT h.name, h.priority, h.lane FROM heads AS h
            WHERE
                h.jobs = '{}'
                AND NOT EXISTS (
                    SELECT 1 FROM chosen AS c
                    WHERE
                        c.number = room
                        AND (c.priority, c.nth, c.lane) < (h.priority, 1, h.lane)
                )
        )
        SELECT
            (SELECT array_agg(c.seq ORDER BY c.number) FROM chosen AS c),
            (SELECT array_agg(c.name ORDER BY c.number) FROM chosen AS c),
            (SELECT array_agg(c.priority ORDER BY c.number) FROM chosen AS c),
            (SELECT array_agg(s.name ORDER BY s.ended) FROM sums AS s WHERE s.given BETWEEN 1 AND s.found - 1),
            (SELECT array_agg(s.priority ORDER BY s.ended) FROM sums AS s WHERE s.given BETWEEN 1 AND s.found - 1),
            (SELECT array_agg(e.name ORDER BY e.lane) FROM ends AS e),
            (SELECT array_agg(e.priority ORDER BY e.lane) FROM ends AS e),
            (SELECT array_agg(s.lane) FROM sums AS s WHERE s.given = s.depth),
            (SELECT count(*) FROM sums)
        INTO seqs, names, priorities, kept, kept_priorities, gone, gone_priorities, dry, filled;
        EXIT WHEN dry IS NULL;
        FOREACH lane IN ARRAY dry LOOP
            depths[lane] := room + 1;
        END LOOP;
    END LOOP;
    seqs := coalesce(seqs, '{}');
    IF cardinality(lanes) = room + more AND filled < room THEN
        seqs := NULL;
    END IF;
END
$$;
