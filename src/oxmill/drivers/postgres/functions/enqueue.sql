-- Stores a batch of new jobs that have no unique key, in this order; all of them, or none if an id
-- is taken (unique_violation). What jobs of a batch have in common is given once: each job names
-- its terms by number, counted from 1, and `sizes` tells how many jobs have each. A moment to run
-- at counts, else a delay from now. Labels are fields and tags, with the number of their job.
-- `extras` and the labels may be NULL for all.
-- Result: now.
CREATE OR REPLACE FUNCTION oxmill.enqueue(
    ids text[], payloads bytea[], terms integer[], extras text[], queues text[], tasks text[],
    priorities integer[], delays bigint[], moments bigint[], expiries bigint[],
    attempts integer[], crashes integer[], keeps bigint[], groups text[], sizes bigint[],
    label_jobs integer[], label_names text[], label_values text[], at bigint
) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    now bigint := coalesce(at, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
BEGIN
    INSERT INTO oxmill.jobs (
        seq, place, id, enqueued_at, queue, task, state, priority, due_at, expires_at,
        max_attempts, crash_limit, keep, group_name, extras, payload
    )
    SELECT
        n.number, n.number, n.id, now, t.queue, t.task,
        CASE WHEN coalesce(t.run_at, now + t.delay) > now THEN 'scheduled' ELSE 'waiting' END,
        t.priority, coalesce(t.run_at, now + t.delay), now + t.expiry, t.attempts, t.crashes,
        t.keep, t.group_name, n.extras, n.payload
    FROM (
        SELECT nextval('oxmill.numbers') AS number, j.id, j.payload, j.term, j.extras
        FROM unnest(ids, payloads, terms, extras) AS j (id, payload, term, extras)
    ) AS n
    JOIN unnest(
        queues, tasks, priorities, delays, moments, expiries, attempts, crashes, keeps, groups
    ) WITH ORDINALITY AS t (
        queue, task, priority, delay, run_at, expiry, attempts, crashes, keep, group_name, term
    ) ON t.term = n.term;
    INSERT INTO oxmill.count_changes (queue, name, n, total)
    SELECT c.queue, c.state, sum(c.n), 0
    FROM (
        SELECT
            t.queue, t.n,
            CASE WHEN coalesce(t.run_at, now + t.delay) > now THEN 'scheduled' ELSE 'waiting' END
                AS state
        FROM unnest(queues, delays, moments, sizes) AS t (queue, delay, run_at, n)
    ) AS c
    GROUP BY c.queue, c.state;
    IF label_jobs IS NOT NULL THEN
        INSERT INTO oxmill.fields (name, value, job)
        SELECT l.name, l.value, j.seq
        FROM unnest(label_jobs, label_names, label_values) AS l (job, name, value)
        JOIN oxmill.jobs AS j ON j.id = ids[l.job]
        ON CONFLICT (name, value, job) DO NOTHING;
    END IF;
    IF EXISTS (SELECT 1 FROM unnest(groups) AS g (name) WHERE g.name IS NOT NULL) THEN
        PERFORM oxmill.join_lanes_of(ids);
    END IF;
    RETURN now;
END
$$;
