-- What `hand_over_batch` does, then a claim as in `settle_and_claim`, then what `fields_read` tells of the jobs
-- that were claimed: one call, whose plans are kept, costs less than a statement that names all three.
-- Nothing is claimed unless every item was settled.
-- Result: of what was settled, the queue, and told: now, whether others may start, then the items; with the
-- first of these rows, as extras, the flows that have ended, a JSON array; then the rows of that claim; then, as
-- id, queue and payload, those of `fields_read`.
CREATE OR REPLACE FUNCTION oxmill.hand_on_and_claim(
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
    seq bigint, id text, queue text, task text, payload bytea, attempt integer, priority integer,
    failures integer, crashes integer, max_attempts integer, enqueued_at bigint, group_name text,
    extras text, progress bytea, unique_key text, place bigint, told bigint[]
)
LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    missing integer := cardinality(ids);
BEGIN
    FOR queue, told, extras IN
        SELECT
            d.of_queue, ARRAY[d.moment, d.frees::integer] || d.items, array_to_json(d.ended)::text
        FROM oxmill.hand_over_batch(
            ids, attempts, nonces, results, merge_items, merge_names, merge_values,
            next_items, next_flows, next_reads, next_ids, next_payloads, terms,
            next_extras, next_queues, tasks, next_priorities, delays, moments,
            expiries, next_attempts, next_crashes, keeps, groups, sizes, label_jobs,
            label_names, label_values, usual, usual_failed, at
        ) AS d
    LOOP
        missing := missing - cardinality(told) + 2;
        RETURN NEXT;
    END LOOP;
    IF missing = 0 THEN
        RETURN QUERY
        WITH claimed AS MATERIALIZED (
            SELECT
                c.seq, c.id, c.queue, c.task, c.payload, c.attempt, c.priority, c.failures, c.crashes,
                c.max_attempts, c.enqueued_at, c.group_name, c.extras, c.progress, c.unique_key, c.place,
                c.told
            FROM oxmill.settle_and_claim(
                NULL, NULL, NULL, NULL, NULL, NULL, wanted, most, length, holder, mark, at, bound,
                tending, line_priorities, line_places
            ) AS c
        )
        SELECT c.* FROM claimed AS c
        UNION ALL
        SELECT
            NULL, f.of_flow, f.of_name, NULL, f.of_value, NULL, NULL, NULL, NULL, NULL, NULL,
            NULL, NULL, NULL, NULL, NULL, NULL
        FROM oxmill.fields_read(
            ARRAY(SELECT c.extras FROM claimed AS c WHERE c.extras IS NOT NULL)
        ) AS f;
    END IF;
END
$$;
