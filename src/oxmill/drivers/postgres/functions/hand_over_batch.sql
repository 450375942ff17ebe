-- Running jobs of flows succeed, fields are merged into the states of their flows, and next steps begin:
-- all of it, or nothing if a token is wrong, if somebody waits for one of the jobs, if a next step
-- is there already or names another flow than its job's. That is left to the caller.
-- `merge_items` and `next_items` tell to which item, counted from 1, a field or a next step belongs. Next
-- steps are given as to `enqueue`, NULL if there are none. `usual` and `usual_failed` are how long
-- flows are kept. A flow's record is touched only if it has more or less live jobs than before.
-- Result: the items, together those of one queue that fared alike: the queue of their jobs, now, whether others
-- may start because they run no longer, and the numbers of the items, in no order; with the first of these rows
-- the flows that have ended. No row if nothing was done. A row per item would be copied at every step of its way.
CREATE OR REPLACE FUNCTION oxmill.hand_over_batch(
    ids text[], attempts integer[], nonces bigint[], results bytea[], merge_items integer[],
    merge_names text[], merge_values bytea[], next_items integer[], next_flows text[],
    next_reads text[], next_ids text[], payloads bytea[], terms integer[], extras text[],
    queues text[], tasks text[], priorities integer[], delays bigint[], moments bigint[],
    expiries bigint[], next_attempts integer[], crashes integer[], keeps bigint[], groups text[],
    sizes bigint[], label_jobs integer[], label_names text[], label_values text[], usual bigint,
    usual_failed bigint, at bigint
) RETURNS TABLE (
    of_queue text, moment bigint, frees boolean, items integer[], ended text[]
)
LANGUAGE plpgsql VOLATILE
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
    clock bigint := coalesce(at, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
    special boolean := EXISTS (SELECT 1 FROM oxmill.queue_settings);
    of_queues text[];
    of_groups text[];
    of_flows text[];
    over text[];
BEGIN
    BEGIN
        WITH done AS (
            UPDATE oxmill.jobs AS j SET
                state = 'succeeded',
                reason = NULL,
                last_outcome = 'complete',
                lease_until = NULL,
                result = coalesce(a.result, j.result),
                ended_at = clock
            FROM unnest(ids, attempts, nonces, results) WITH ORDINALITY
                AS a (id, attempt, nonce, result, number)
            WHERE
                j.id = a.id AND j.state = 'running' AND j.unique_key IS NULL
                AND j.attempt = a.attempt AND j.nonce = a.nonce AND j.keep = -1
            RETURNING a.number, j.seq, j.queue, j.group_name
        ), freed AS (
            INSERT INTO oxmill.lane_news (queue, freed)
            SELECT d.queue, array_agg(DISTINCT d.group_name) FROM done AS d
            WHERE d.group_name IS NOT NULL
            GROUP BY d.queue
        ), counted AS (
            INSERT INTO oxmill.count_changes (queue, name, n, total)
            SELECT d.queue, s.name, s.sign * count(*), s.ends * count(*)
            FROM done AS d
            CROSS JOIN (VALUES ('running', -1, 0), ('succeeded', 1, 1)) AS s (name, sign, ends)
            GROUP BY d.queue, s.name, s.sign, s.ends
        )
        SELECT array_agg(a.queue), array_agg(a.group_name), array_agg(a.flow)
        INTO of_queues, of_groups, of_flows
        FROM (
            SELECT d.queue, d.group_name, n.flow
            FROM done AS d
            JOIN oxmill.nodes AS n ON n.job = d.seq
            ORDER BY d.number
        ) AS a;
        -- What others did before they let go of these jobs is seen from here on.
        IF coalesce(cardinality(of_queues), 0) < cardinality(ids) OR EXISTS (
            -- Not as a join, which is planned for as many edges as there were at first.
            SELECT 1 FROM unnest(ids) AS a (id)
            WHERE (
                SELECT e.dependent FROM oxmill.edges AS e
                WHERE e.upstream = a.id AND e.ok IS NULL
                LIMIT 1
            ) IS NOT NULL
        ) OR EXISTS (
            SELECT 1 FROM unnest(next_items, next_flows) AS a (item, flow)
            WHERE a.flow IS DISTINCT FROM of_flows[a.item]
        ) THEN
            RAISE EXCEPTION 'not the usual case' USING ERRCODE = 'OX001';
        END IF;
        IF next_ids IS NOT NULL THEN
            PERFORM oxmill.enqueue(
                next_ids, payloads, terms, extras, queues, tasks, priorities, delays, moments,
                expiries, next_attempts, crashes, keeps, groups, sizes, label_jobs, label_names,
                label_values, clock
            );
            INSERT INTO oxmill.nodes (
                job, id, flow, reads, staged, member_no, waiting, round, succeeded, failed, open
            )
            SELECT j.seq, a.id, a.flow, a.reads, 0, 0, 0, 0, 0, 0, 0
            FROM unnest(next_ids, next_flows, next_reads) AS a (id, flow, reads)
            JOIN oxmill.jobs AS j ON j.id = a.id;
        END IF;
        IF merge_items IS NOT NULL THEN
            INSERT INTO oxmill.flow_state (flow, name, value)
            SELECT DISTINCT ON (a.flow, a.name) a.flow, a.name, a.value
            FROM (
                SELECT of_flows[m.item] AS flow, m.name, m.value, m.number
                FROM unnest(merge_items, merge_names, merge_values) WITH ORDINALITY
                    AS m (item, name, value, number)
            ) AS a
            ORDER BY a.flow, a.name, a.number DESC
            ON CONFLICT (flow, name) DO UPDATE SET value = excluded.value;
        END IF;
        -- One next step for each, as amid a pipeline, leaves every flow with as many live jobs as it had.
        IF next_flows IS DISTINCT FROM of_flows THEN
            WITH changed AS (
                UPDATE oxmill.flows AS f SET live = f.live + c.delta
                FROM (
                    SELECT a.flow, sum(a.n) AS delta
                    FROM (
                        SELECT flow, -1 AS n FROM unnest(of_flows) AS o (flow)
                        UNION ALL
                        SELECT flow, 1 FROM unnest(next_flows) AS o (flow)
                    ) AS a
                    GROUP BY a.flow
                    HAVING sum(a.n) <> 0
                    ORDER BY a.flow
                ) AS c
                WHERE f.id = c.flow
                RETURNING f.id, f.live, f.ended_at, f.published
            )
            SELECT array_agg(c.id ORDER BY c.id) INTO over
            FROM changed AS c
            WHERE c.live = 0 AND c.ended_at IS NULL AND c.published = 1;
        END IF;
        IF over IS NOT NULL THEN
            WITH closed AS (
                UPDATE oxmill.flows AS f SET ended_at = clock, failed = e.failed
                FROM (
                    SELECT o.id, CASE WHEN g.lost = 1 OR EXISTS (
                        SELECT 1
                        FROM oxmill.nodes AS n
                        JOIN oxmill.jobs AS j ON j.seq = n.job
                        WHERE
                            n.flow = o.id
                            AND j.state IN ('failed', 'cancelled')
                            AND NOT EXISTS (SELECT 1 FROM oxmill.edges AS e WHERE e.upstream = n.id)
                    ) THEN 1 ELSE 0 END AS failed
                    FROM unnest(over) AS o (id)
                    JOIN oxmill.flows AS g ON g.id = o.id
                ) AS e
                WHERE f.id = e.id
                RETURNING f.id, coalesce(
                    f.keep, CASE WHEN e.failed = 1 THEN usual_failed ELSE usual END
                ) AS keep
            )
            INSERT INTO oxmill.closings (prune_at, ended_at, flows)
            SELECT clock + c.keep, clock, array_agg(c.id) FROM closed AS c GROUP BY c.keep;
        END IF;
    EXCEPTION
        WHEN unique_violation OR SQLSTATE 'OX001' THEN
            RETURN;
    END;
    moment := clock;
    ended := over;
    FOR of_queue, frees, items IN
        SELECT
            a.queue, special AND coalesce((
                SELECT s.limits & CASE WHEN a.grouped THEN 6 ELSE 2 END > 0
                FROM oxmill.queue_settings AS s WHERE s.queue = a.queue
            ), false),
            a.numbers
        FROM (
            SELECT
                o.queue, o.group_name IS NOT NULL AS grouped,
                array_agg(o.number::integer) AS numbers
            FROM unnest(of_queues, of_groups) WITH ORDINALITY AS o (queue, group_name, number)
            GROUP BY o.queue, o.group_name IS NOT NULL
        ) AS a
    LOOP
        RETURN NEXT;
        ended := NULL;
    END LOOP;
END
$$;
