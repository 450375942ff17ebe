-- What `hand_on_and_claim` does, for the last version of the code.
-- Result: the columns of `hand_over`, with all else NULL; then, with these NULL, the rows of a claim as in
-- `settle_and_claim`; then, as id, queue and payload, those of `fields_read`.
CREATE OR REPLACE FUNCTION oxmill.step_and_claim(
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
    progress bytea, unique_key text, place bigint, told bigint[]
)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH turn AS MATERIALIZED (
        SELECT
            t.seq, t.id, t.queue, t.task, t.payload, t.attempt, t.priority, t.failures, t.crashes,
            t.max_attempts, t.enqueued_at, t.group_name, t.extras, t.progress, t.unique_key, t.place,
            t.told, t.seq IS NULL AND t.queue IS NOT NULL AND t.told IS NOT NULL AS settled
        FROM oxmill.hand_on_and_claim(
            ids, attempts, nonces, results, merge_items, merge_names, merge_values,
            next_items, next_flows, next_reads, next_ids, next_payloads, terms,
            next_extras, next_queues, tasks, next_priorities, delays, moments,
            expiries, next_attempts, next_crashes, keeps, groups, sizes, label_jobs,
            label_names, label_values, usual, usual_failed, wanted, most, length,
            holder, mark, at, bound, tending, line_priorities, line_places
        ) AS t
    )
    SELECT
        i.number::integer, t.queue, t.told[1], t.told[2] = 1, o.extras::json ->> (i.number::integer - 1),
        NULL::bigint, NULL, NULL, NULL, NULL::bytea, NULL::integer, NULL::integer, NULL::integer,
        NULL::integer, NULL::integer, NULL::bigint, NULL, NULL, NULL::bytea, NULL, NULL::bigint,
        NULL::bigint[]
    FROM turn AS t
    CROSS JOIN LATERAL unnest(t.told[3:]) AS i (number)
    LEFT JOIN turn AS o ON o.settled AND o.extras IS NOT NULL
    WHERE t.settled
    UNION ALL
    SELECT
        NULL, NULL, NULL, NULL, NULL, t.seq, t.id, t.queue, t.task, t.payload, t.attempt, t.priority,
        t.failures, t.crashes, t.max_attempts, t.enqueued_at, t.group_name, t.extras, t.progress,
        t.unique_key, t.place, t.told
    FROM turn AS t
    WHERE NOT t.settled;
END
$$;
