-- The next jobs of a gated queue, at most `room` of them: better priority first, between lanes of one
-- priority one job in turn, within a lane by place; of each group no more than `group_slots` run at
-- once and its rate lets start, NULL for no such limit. The lanes of no group are made before, as in
-- `plain_lanes`. A little more is read than needed: at first of each lane its share and one job,
-- which tells whether others are left; more of those that give all that was read.
-- Result: `seqs` of the jobs in the order of serving, with the `names` of their groups and their
-- priorities; lanes that have `kept` jobs, in the order in which their last turns ended; those that
-- are `gone`: they gave their last job, or it was their turn and they were empty; those that are
-- `parked` until a moment, because it was their turn and their group may not start more; groups that have
-- `spent` of their rate, with the moment until which it is used up. All NULL if a group is shut, or if so
-- many lanes are empty or closed that it takes more than one look.
CREATE OR REPLACE FUNCTION oxmill.choose(
    wanted text, room integer, moment bigint, group_slots integer, group_pace bigint,
    group_burst integer,
    OUT seqs bigint[], OUT names text[], OUT priorities integer[],
    OUT kept text[], OUT kept_priorities integer[], OUT gone text[], OUT gone_priorities integer[],
    OUT parked text[], OUT parked_priorities integer[], OUT parked_until bigint[],
    OUT spent text[], OUT spent_until bigint[]
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
    forever CONSTANT bigint := 1::bigint << 62;
    lanes text[];
    ranks integer[];
    depths integer[];
    quotas bigint[];
    tats bigint[];
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
    IF group_slots IS NOT NULL OR group_pace IS NOT NULL THEN
        SELECT array_agg(g.quota ORDER BY g.lane), array_agg(g.tat ORDER BY g.lane)
        INTO quotas, tats
        FROM (
            SELECT
                a.lane,
                CASE WHEN a.name <> '' THEN least(
                    CASE WHEN group_slots IS NOT NULL THEN group_slots - (
                        SELECT count(*)
                        FROM (
                            SELECT 1 FROM oxmill.jobs AS j
                            WHERE
                                j.state = 'running' AND j.group_name IS NOT NULL
                                AND j.queue = wanted AND j.group_name = a.name
                            LIMIT group_slots
                        ) AS r
                    ) END,
                    group_burst - (a.tat - moment + group_pace - 1) / group_pace
                ) END AS quota,
                a.tat
            FROM (
                SELECT
                    l.name, l.lane,
                    greatest(moment, (
                        SELECT m.tat FROM oxmill.meters AS m
                        WHERE m.queue = wanted AND m.scope = 'group' AND m.target = l.name
                    )) AS tat
                FROM unnest(lanes) WITH ORDINALITY AS l (name, lane)
                OFFSET 0
            ) AS a
        ) AS g;
    END IF;
    -- Who makes room may shut his group in the same step: so this is asked after who runs, and the heads
    -- are read after both. Each is looked up by itself: a join is planned for as many rows as there were
    -- at first.
    IF EXISTS (
        SELECT 1 FROM oxmill.meters AS m WHERE m.queue = wanted AND m.scope = 'group'
    ) AND EXISTS (
        SELECT 1 FROM unnest(lanes) AS a (name)
        WHERE (
            SELECT m.closed_until FROM oxmill.meters AS m
            WHERE m.queue = wanted AND m.scope = 'group' AND m.target = a.name
        ) > moment
    ) THEN
        RETURN;
    END IF;
    depths := array_fill((room - 1) / cardinality(lanes) + 2, ARRAY[cardinality(lanes)]);
    LOOP
        WITH heads AS MATERIALIZED (
            SELECT
                a.lane, a.name, a.priority, a.depth, a.quota, a.tat,
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
                    LIMIT least(a.depth, CASE WHEN a.quota > 0 THEN a.quota + 1 WHEN a.quota <= 0 THEN 1 END)
                ) END AS jobs
            FROM unnest(lanes, ranks, depths, quotas, tats) WITH ORDINALITY
                AS a (name, priority, depth, quota, tat, lane)
        ), fed AS MATERIALIZED (
            -- What lanes of better priority give counts against the quota of their group.
            SELECT
                h.lane, h.name, h.priority, h.depth, h.tat, h.jobs, cardinality(h.jobs) AS found,
                h.quota - coalesce(sum(cardinality(h.jobs)) OVER (
                    PARTITION BY h.name ORDER BY h.priority
                    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                ), 0) AS rest
            FROM heads AS h
        ), line AS MATERIALIZED (
            SELECT
                f.lane, f.name, f.priority, f.depth, f.tat, f.found, f.rest, u.seq, u.nth,
                row_number() OVER (ORDER BY u.seq IS NULL, f.priority, u.nth, f.lane) AS number
            FROM fed AS f
            LEFT JOIN LATERAL unnest(f.jobs[1:coalesce(f.rest, f.found)]) WITH ORDINALITY
                AS u (seq, nth) ON true
        ), chosen AS MATERIALIZED (
            SELECT c.lane, c.name, c.priority, c.seq, c.nth, c.number
            FROM line AS c WHERE c.number <= room AND c.seq IS NOT NULL
        ), last AS MATERIALIZED (
            SELECT c.lane, c.priority, c.nth FROM chosen AS c WHERE c.number = room
        ), sums AS MATERIALIZED (
            SELECT
                c.lane, c.name, c.priority, c.depth, c.tat, c.found, c.rest, count(c.seq) AS open,
                count(c.seq) FILTER (WHERE c.number <= room) AS given,
                max(c.number) FILTER (WHERE c.number <= room AND c.seq IS NOT NULL) AS ended
            FROM line AS c
            GROUP BY c.lane, c.name, c.priority, c.depth, c.tat, c.found, c.rest
        ), ends AS MATERIALIZED (
            SELECT
                s.lane, s.name, s.priority, s.found, s.rest, s.given, s.ended, s.tat,
                sum(s.given) OVER (PARTITION BY s.name) AS given_of_group,
                c.lane IS NULL OR (s.priority, s.given + 1, s.lane) < (c.priority, c.nth, c.lane)
                    AS reached
            FROM sums AS s
            LEFT JOIN last AS c ON true
        ), halted AS MATERIALIZED (
            SELECT
                e.lane, e.name, e.priority,
                e.tat + (e.given_of_group - group_burst + 1) * group_pace AS opens_at
            FROM ends AS e
            WHERE e.reached AND e.rest <= e.given AND (e.given = 0 OR e.given < e.found)
        ), over AS MATERIALIZED (
            SELECT e.name, e.priority, e.lane FROM ends AS e
            WHERE
                e.given > 0 AND e.given = e.found
                OR e.found = 0 AND e.reached AND (e.rest > 0 OR e.rest IS NULL)
        ), used AS MATERIALIZED (
            SELECT DISTINCT e.name, e.tat + e.given_of_group::bigint * group_pace AS tat
            FROM ends AS e
            WHERE e.given > 0 AND e.name <> '' AND group_pace IS NOT NULL
        )
        SELECT
            (SELECT array_agg(c.seq ORDER BY c.number) FROM chosen AS c),
            (SELECT array_agg(c.name ORDER BY c.number) FROM chosen AS c),
            (SELECT array_agg(c.priority ORDER BY c.number) FROM chosen AS c),
            (SELECT array_agg(e.name ORDER BY e.ended) FROM ends AS e WHERE e.given BETWEEN 1 AND e.found - 1),
            (SELECT array_agg(e.priority ORDER BY e.ended) FROM ends AS e WHERE e.given BETWEEN 1 AND e.found - 1),
            (SELECT array_agg(o.name ORDER BY o.lane) FROM over AS o),
            (SELECT array_agg(o.priority ORDER BY o.lane) FROM over AS o),
            (SELECT array_agg(h.name ORDER BY h.lane) FROM halted AS h),
            (SELECT array_agg(h.priority ORDER BY h.lane) FROM halted AS h),
            (
                SELECT array_agg(
                    CASE WHEN h.opens_at > moment THEN h.opens_at ELSE forever END ORDER BY h.lane
                )
                FROM halted AS h
            ),
            (SELECT array_agg(u.name ORDER BY u.name) FROM used AS u),
            (SELECT array_agg(u.tat ORDER BY u.name) FROM used AS u),
            (SELECT array_agg(s.lane) FROM sums AS s WHERE s.given = s.depth),
            (SELECT count(*) FROM sums AS s WHERE s.open > 0)
        INTO
            seqs, names, priorities, kept, kept_priorities, gone, gone_priorities, parked,
            parked_priorities, parked_until, spent, spent_until, dry, filled;
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
