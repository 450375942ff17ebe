-- What `settle_and_claim` does where there is nothing to settle, for the last version of the code.
-- Result: the columns of a lease and its place, one row per job, in no order; then one row without a
-- job: now, next_due, whether there is something to tend to, and how many entries, dead ones
-- included, were read in the index of the line and in those that tell what to tend to.
CREATE OR REPLACE FUNCTION oxmill.claim(
    wanted text[], most integer, length bigint, holder text, mark bigint, at bigint,
    bound integer, tending boolean, priorities integer[], places bigint[]
) RETURNS TABLE (
    seq bigint, id text, queue text, task text, payload bytea, attempt integer, priority integer,
    failures integer, crashes integer, max_attempts integer, enqueued_at bigint, group_name text,
    extras text, progress bytea, unique_key text, place bigint, now bigint, next_due bigint,
    tend boolean, line_steps bigint, tend_steps bigint
)
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    RETURN QUERY
    SELECT
        c.seq, c.id, c.queue, c.task, c.payload, c.attempt, c.priority, c.failures, c.crashes,
        c.max_attempts, c.enqueued_at, c.group_name, c.extras, c.progress, c.unique_key, c.place,
        c.told[1], c.told[2], c.told[3] > 0, c.told[4], c.told[5]
    FROM oxmill.settle_and_claim(
        NULL, NULL, NULL, NULL, NULL, NULL, wanted, most, length, holder, mark, at, bound, tending,
        priorities, places
    ) AS c;
END
$$;
