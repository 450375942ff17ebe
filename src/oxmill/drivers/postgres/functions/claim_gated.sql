-- The usual claim of one gated queue: limits of the queue and of its groups, which take turns of one job.
-- At most `most` jobs go out under a lease, in the order of serving. Anything else (rules, jobs set aside,
-- something to tend to, a group that is shut, a key to be freed) is left to the caller, who must see to it:
-- then nothing is granted. Lanes whose moment has come open before, `bound` of them.
-- `known` is the settings that the caller has read, with their concurrency and the interval and burst of
-- their rate, and the same for each group; if they are others by now, that is left to the caller too.
-- Result: the columns of a lease, one row per job, in no order; then one row without a job: as `extras`
-- the seqs in the order of serving, or the settings, if the claim is left to the caller (`tend`); now
-- and next_due.
CREATE OR REPLACE FUNCTION oxmill.claim_gated(
    wanted text, most integer, length bigint, holder text, mark bigint, at bigint,
    known text, slots integer, pace bigint, burst integer, group_slots integer, group_pace bigint,
    group_burst integer, bound integer
) RETURNS TABLE (
    seq bigint, id text, queue text, task text, payload bytea, attempt integer, priority integer,
    failures integer, crashes integer, max_attempts integer, enqueued_at bigint, group_name text,
    extras text, progress bytea, unique_key text, now bigint, next_due bigint, tend boolean
)
LANGUAGE plpgsql VOLATILE
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_material = off
AS $$
#variable_conflict use_column
DECLARE
    moment bigint;
    settings text;
    room integer := most;
    running integer := 0;
    tat bigint := 0;
    choice record;
    taken tid[];
    opens bigint;
    soonest bigint;
BEGIN
    PERFORM oxmill.enter_gates(ARRAY[wanted]);
    moment := coalesce(at, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
    now := moment;
    UPDATE oxmill.lanes AS l SET opens_at = 0, behind = NULL
    WHERE l.ctid = ANY (ARRAY(
        SELECT p.ctid FROM oxmill.lanes AS p
        WHERE p.opens_at > 0 AND p.queue = wanted AND p.opens_at <= moment
        ORDER BY p.opens_at
        LIMIT bound
    ));
    -- Who makes room may shut the queue in the same step: so it is asked first who runs.
    IF slots IS NOT NULL THEN
        running := (
            SELECT count(*) FROM oxmill.jobs AS j
            WHERE j.lease_until IS NOT NULL AND j.queue = wanted
        );
        room := least(room, slots - running);
    END IF;
    settings := (SELECT s.settings FROM oxmill.queue_settings AS s WHERE s.queue = wanted);
    tend := settings IS DISTINCT FROM known OR oxmill.unusual(wanted, moment);
    IF NOT tend THEN
        IF pace IS NOT NULL THEN
            tat := greatest(moment, (
                SELECT m.tat FROM oxmill.meters AS m
                WHERE m.queue = wanted AND m.scope = 'queue' AND m.target = ''
            ));
            room := least(room, burst - (tat - moment + pace - 1) / pace);
        END IF;
        SELECT
            c.seqs, c.names, c.priorities, c.kept, c.kept_priorities, c.gone, c.gone_priorities,
            c.parked, c.parked_priorities, c.parked_until, c.spent, c.spent_until
        INTO choice
        FROM oxmill.choose(wanted, room, moment, group_slots, group_pace, group_burst) AS c;
        tend := choice.seqs IS NULL;
    END IF;
    IF NOT tend THEN
        -- Each job is looked up by itself: a join is planned for as many jobs as there were at first.
        taken := ARRAY(
            SELECT j.ctid
            FROM (
                SELECT
                    c.name, c.priority,
                    (SELECT o.ctid FROM oxmill.jobs AS o WHERE o.seq = c.seq) AS at
                FROM unnest(choice.seqs, choice.names, choice.priorities)
                    AS c (seq, name, priority)
                OFFSET 0
            ) AS found
            JOIN oxmill.jobs AS j ON j.ctid = found.at
            WHERE
                j.state = 'waiting' AND j.aside IS NULL AND j.queue = wanted
                AND coalesce(j.group_name, '') = found.name AND j.priority = found.priority
                AND (j.unique_key IS NULL OR j.extras NOT LIKE '%"until":"started"%')
            FOR UPDATE OF j SKIP LOCKED
        );
        tend := cardinality(taken) < cardinality(choice.seqs);
    END IF;
    IF tend THEN
        extras := settings;
        RETURN NEXT;
        RETURN;
    END IF;
    IF cardinality(taken) > 0 THEN
        PERFORM oxmill.count_started(ARRAY[wanted], taken);
        RETURN QUERY
        UPDATE oxmill.jobs AS j SET
            state = 'running',
            attempt = j.attempt + 1,
            nonce = mark,
            worker = holder,
            claimed_at = moment,
            lease = length,
            lease_until = moment + length,
            reason = NULL,
            last_outcome = NULL
        WHERE j.ctid = ANY (taken)
        RETURNING
            j.seq, j.id, j.queue, j.task, j.payload, j.attempt - 1, j.priority, j.failures,
            j.crashes, j.max_attempts, j.enqueued_at, j.group_name, j.extras, j.progress,
            j.unique_key, NULL::bigint, NULL::bigint, NULL::boolean;
        tat := tat + pace * cardinality(taken);
        INSERT INTO oxmill.meters AS m (queue, scope, target, tat, closed_until, idle_at)
        SELECT wanted, u.scope, u.target, u.tat, 0, u.tat
        FROM (
            SELECT 'queue' AS scope, '' AS target, tat WHERE pace IS NOT NULL
            UNION ALL
            SELECT 'group', s.name, s.tat
            FROM unnest(choice.spent, choice.spent_until) AS s (name, tat)
        ) AS u
        ON CONFLICT (queue, scope, target) DO UPDATE SET
            tat = excluded.tat,
            idle_at = greatest(excluded.tat, m.closed_until);
    END IF;
    PERFORM oxmill.end_turns(
        wanted, choice.kept, choice.kept_priorities, choice.gone, choice.gone_priorities
    );
    IF choice.parked IS NOT NULL THEN
        PERFORM oxmill.park_lanes(
            wanted, choice.parked, choice.parked_priorities, choice.parked_until
        );
    END IF;
    IF cardinality(taken) < most THEN
        -- A queue that is closed now tells nothing about its lanes.
        opens := CASE WHEN tat - (burst - 1) * pace > moment THEN tat - (burst - 1) * pace END;
        soonest := least(
            opens,
            (
                SELECT j.due_at FROM oxmill.jobs AS j
                WHERE j.state = 'scheduled' AND j.queue = wanted
                ORDER BY j.due_at LIMIT 1
            ),
            (
                SELECT j.lease_until FROM oxmill.jobs AS j
                WHERE j.lease_until IS NOT NULL AND j.queue = wanted
                ORDER BY j.lease_until LIMIT 1
            ),
            (
                SELECT l.opens_at FROM oxmill.lanes AS l
                WHERE
                    l.opens_at > 0 AND l.queue = wanted AND l.opens_at < 1::bigint << 62
                    AND opens IS NULL AND (slots IS NULL OR running + cardinality(taken) < slots)
                ORDER BY l.opens_at LIMIT 1
            )
        );
    END IF;
    RETURN QUERY SELECT
        NULL::bigint, NULL, NULL, NULL, NULL::bytea, NULL::integer, NULL::integer, NULL::integer,
        NULL::integer, NULL::integer, NULL::bigint, NULL, array_to_string(choice.seqs, ','),
        NULL::bytea, NULL, moment, soonest, false;
END
$$;
