-- What `step_and_claim` does, for the last version of the code.
-- Result: the columns of `hand_over`, with all else NULL; then, with these NULL, the rows of `claim`;
-- then, as id, queue and payload, those of `fields_read`.
CREATE OR REPLACE FUNCTION oxmill.hand_over_and_claim(
    ids text[], attempts integer[], nonces bigint[], results bytea[], merge_items integer[],
    merge_names text[], merge_values bytea[], next_items integer[], next_flows text[],
    next_reads text[], next_ids text[], next_payloads bytea[], terms integer[],
    next_extras text[], next_queues text[], tasks text[], next_priorities integer[],
    delays bigint[], moments bigint[], expiries bigint[], next_attempts integer[],
    next_crashes integer[], keeps bigint[], groups text[], sizes bigint[],
    label_jobs integer[], label_names text[], label_values text[], usual bigint,
    usual_failed bigint, wanted text[], most integer, length bigint, holder text, mark bigint,
    at bigint, bound integer, tending boolean, line_priorities integer[], line_places bigint[]
) RETURNS TABLE (
    item integer, of_queue text, moment bigint, frees boolean, ended_flow text, seq bigint, id text,
    queue text, task text, payload bytea, attempt integer, priority integer, failures integer,
    crashes integer, max_attempts integer, enqueued_at bigint, group_name text, extras text,
    progress bytea, unique_key text, place bigint, now bigint, next_due bigint, tend boolean,
    line_steps bigint, tend_steps bigint
)
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    RETURN QUERY
    SELECT
        c.item, c.of_queue, c.moment, c.frees, c.ended_flow, c.seq, c.id, c.queue, c.task, c.payload,
        c.attempt, c.priority, c.failures, c.crashes, c.max_attempts, c.enqueued_at, c.group_name,
        c.extras, c.progress, c.unique_key, c.place,
        c.told[1], c.told[2], c.told[3] > 0, c.told[4], c.told[5]
    FROM oxmill.step_and_claim(
        ids, attempts, nonces, results, merge_items, merge_names, merge_values,
        next_items, next_flows, next_reads, next_ids, next_payloads, terms, next_extras,
        next_queues, tasks, next_priorities, delays, moments, expiries, next_attempts,
        next_crashes, keeps, groups, sizes, label_jobs, label_names, label_values,
        usual, usual_failed, wanted, most, length, holder, mark, at, bound, tending,
        line_priorities, line_places
    ) AS c;
END
$$;
