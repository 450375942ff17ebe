-- Stores a batch of new jobs that have no unique key, in this order; all of them, or none if an id
-- is taken (unique_violation). What jobs of a batch have in common is given once: each job names
-- its terms by number, counted from 1. Delays count from now. `extras` may be NULL for all.
CREATE OR REPLACE FUNCTION oxmill.enqueue(
    ids text[], payloads bytea[], terms integer[], extras text[], queues text[], tasks text[],
    states text[], priorities integer[], delays bigint[], expiries bigint[], attempts integer[],
    crashes integer[], keeps bigint[], groups text[], sizes bigint[], at bigint
) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    now bigint := oxmill.clock(at);
BEGIN
    INSERT INTO oxmill.jobs (
        seq, place, id, enqueued_at, queue, task, state, priority, due_at, expires_at,
        max_attempts, crash_limit, keep, group_name, extras, payload
    )
    SELECT
        n.number, n.number, n.id, now, t.queue, t.task, t.state, t.priority, now + t.delay,
        now + t.expiry, t.attempts, t.crashes, t.keep, t.group_name, n.extras, n.payload
    FROM (
        SELECT nextval('oxmill.numbers') AS number, j.id, j.payload, j.term, j.extras
        FROM unnest(ids, payloads, terms, extras) AS j (id, payload, term, extras)
    ) AS n
    JOIN unnest(
        queues, tasks, states, priorities, delays, expiries, attempts, crashes, keeps, groups
    ) WITH ORDINALITY AS t (
        queue, task, state, priority, delay, expiry, attempts, crashes, keep, group_name, term
    ) ON t.term = n.term;
    INSERT INTO oxmill.count_changes (queue, name, n, total)
    SELECT c.queue, c.name, sum(c.n), 0
    FROM unnest(queues, states, sizes) AS c (queue, name, n)
    GROUP BY c.queue, c.name;
END
$$;
