-- What `complete_batch` does, then a claim, unless something was left unsettled; `ids` is NULL for a claim alone.
-- At most `most` waiting jobs of the open ones among these queues go out under a lease, each to this
-- holder only, the best ranks. Jobs that are due join the line before, `bound` of them per queue.
-- If a queue is gated, or `tending` and a lease has lapsed or a job expired, nothing is granted and the
-- caller must see to that: it takes rules which are not written here. Only the plain line is read.
-- `priorities` and `places`, one each per queue, are where to begin in its line, for a moment in which
-- the server cannot clear away what is before; only a claim that gets too few then looks at the
-- whole line. NULL for both otherwise.
-- Result: of what was settled, the queue, and told: whether kept, whether others may start, then the items;
-- the columns of a lease and its place, one row per job, in no order; at last, with nothing else, told: now,
-- next_due, whether there is something to tend to, and how many entries, dead ones included, were read in
-- the index of the line and in those that tell what to tend to. A row is copied once on its way, so all
-- of it is done here, and what is told has one column.
CREATE OR REPLACE FUNCTION oxmill.settle_and_claim(
    ids text[], attempts integer[], nonces bigint[], results bytea[], usual bigint,
    gone_first boolean, wanted text[], most integer, length bigint, holder text, mark bigint,
    at bigint, bound integer, tending boolean, priorities integer[], places bigint[]
) RETURNS TABLE (
    seq bigint, id text, queue text, task text, payload bytea, attempt integer, priority integer,
    failures integer, crashes integer, max_attempts integer, enqueued_at bigint, group_name text,
    extras text, progress bytea, unique_key text, place bigint, told bigint[]
)
LANGUAGE plpgsql VOLATILE
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
#variable_conflict use_column
DECLARE
    moment bigint;
    missing integer := cardinality(ids);
    opened text[];
    keyed text[];
    taken tid[];
    above integer[];
    beyond bigint[];
    before bigint;
    before_tending bigint;
    line_steps bigint;
    tend_steps bigint;
    soonest bigint;
BEGIN
    IF missing > 0 THEN
        FOR queue, told IN
            SELECT c.of_queue, ARRAY[c.kept::integer, c.frees::integer] || c.items
            FROM oxmill.complete_batch(
                ids, attempts, nonces, results, usual, gone_first, at
            ) AS c
        LOOP
            missing := missing - cardinality(told) + 2;
            RETURN NEXT;
        END LOOP;
        IF missing > 0 THEN
            RETURN;
        END IF;
        queue := NULL;
    END IF;
    moment := coalesce(at, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
    before := pg_stat_get_xact_tuples_returned('oxmill.jobs_claim'::regclass);
    before_tending := oxmill.tending_steps();
    IF oxmill.gated(wanted, moment) OR tending AND (
        EXISTS (
            SELECT 1 FROM oxmill.jobs AS j
            WHERE j.queue = ANY (wanted) AND j.lease_until <= moment
        )
        OR EXISTS (
            SELECT 1 FROM oxmill.jobs AS j
            WHERE
                j.expires_at IS NOT NULL AND j.attempt = 0
                AND j.state IN ('held', 'scheduled', 'waiting')
                AND j.queue = ANY (wanted) AND j.expires_at <= moment
        )
    ) THEN
        told := ARRAY[moment, NULL, 1, 0, 0];
        RETURN NEXT;
        RETURN;
    END IF;
    IF tending AND EXISTS (
        SELECT 1 FROM oxmill.jobs AS j
        WHERE j.state = 'scheduled' AND j.queue = ANY (wanted) AND j.due_at <= moment
    ) THEN
        PERFORM oxmill.fall_due(wanted, moment, bound);
        -- Jobs of groups may be among them: then lanes take turns from now on.
        IF oxmill.gated(wanted, moment) THEN
            told := ARRAY[moment, NULL, 1, 0, 0];
            RETURN NEXT;
            RETURN;
        END IF;
    END IF;
    SELECT
        coalesce(array_agg(q.name), '{}'),
        array_agg(coalesce(q.priority, -2147483648)),
        array_agg(coalesce(q.place, -1))
    INTO opened, above, beyond
    FROM unnest(wanted, priorities, places) AS q (name, priority, place)
    WHERE NOT EXISTS (
        SELECT 1 FROM oxmill.rules AS r
        WHERE
            r.target = q.name AND r.scope = 'queue' AND r.kind IN ('pause', 'block')
            AND (r.expires_at IS NULL OR r.expires_at > moment)
    );
    IF EXISTS (
        SELECT 1 FROM oxmill.jobs AS j
        WHERE
            j.state = 'waiting' AND j.group_name IS NULL AND j.aside IS NULL
            AND j.queue = ANY (opened)
            AND j.unique_key IS NOT NULL AND j.extras LIKE '%"until":"started"%'
    ) THEN
        keyed := oxmill.lock_started(opened, most, moment);
    END IF;
    tend_steps := oxmill.tending_steps() - before_tending;
    LOOP
        IF cardinality(opened) = 1 THEN
            taken := ARRAY(
                SELECT j.ctid FROM oxmill.jobs AS j
                WHERE
                    j.state = 'waiting' AND j.group_name IS NULL AND j.aside IS NULL
                    AND j.queue = opened[1]
                    AND (j.priority, j.place) > (above[1], beyond[1])
                    AND (j.expires_at IS NULL OR j.expires_at > moment OR j.attempt > 0)
                    AND (
                        j.unique_key IS NULL
                        OR oxmill.free_to_start(j.unique_key, j.extras, keyed)
                    )
                ORDER BY j.priority, j.place
                LIMIT most
                FOR UPDATE SKIP LOCKED
            );
        ELSE
            taken := oxmill.best_of(opened, above, beyond, most, moment, keyed);
        END IF;
        EXIT WHEN priorities IS NULL OR cardinality(taken) = most;
        priorities := NULL;
        above := array_fill(-2147483648, ARRAY[cardinality(opened)]);
        beyond := array_fill(-1::bigint, ARRAY[cardinality(opened)]);
    END LOOP;
    line_steps := pg_stat_get_xact_tuples_returned('oxmill.jobs_claim'::regclass) - before;
    IF cardinality(taken) > 0 THEN
        IF keyed IS NOT NULL THEN
            PERFORM oxmill.free_started(taken, keyed, moment);
        END IF;
        PERFORM oxmill.count_started(opened, taken);
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
            j.unique_key, j.place, NULL::bigint[];
    END IF;
    IF cardinality(taken) < most THEN
        SELECT least(
            min((
                SELECT j.due_at FROM oxmill.jobs AS j
                WHERE j.state = 'scheduled' AND j.queue = q.name
                ORDER BY j.due_at LIMIT 1
            )),
            min((
                SELECT j.lease_until FROM oxmill.jobs AS j
                WHERE j.lease_until IS NOT NULL AND j.queue = q.name
                ORDER BY j.lease_until LIMIT 1
            ))
        ) INTO soonest
        FROM unnest(opened) AS q (name);
    END IF;
    told := ARRAY[moment, soonest, 0, line_steps, tend_steps];
    RETURN NEXT;
END
$$;
