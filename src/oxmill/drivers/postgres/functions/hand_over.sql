-- What `hand_over_batch` does, for the last version of the code.
-- Result: the number of each item, the queue of its job, now, and whether others may start because it runs
-- no longer; beside these, in no relation to the item, one flow per row as long as there are flows that have
-- ended; no row if nothing was done.
CREATE OR REPLACE FUNCTION oxmill.hand_over(
    ids text[], attempts integer[], nonces bigint[], results bytea[], merge_items integer[],
    merge_names text[], merge_values bytea[], next_items integer[], next_flows text[],
    next_reads text[], next_ids text[], payloads bytea[], terms integer[], extras text[],
    queues text[], tasks text[], priorities integer[], delays bigint[], moments bigint[],
    expiries bigint[], next_attempts integer[], crashes integer[], keeps bigint[], groups text[],
    sizes bigint[], label_jobs integer[], label_names text[], label_values text[], usual bigint,
    usual_failed bigint, at bigint
) RETURNS TABLE (
    item integer, of_queue text, moment bigint, frees boolean, ended_flow text
)
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    RETURN QUERY
    WITH done AS MATERIALIZED (
        SELECT d.of_queue, d.moment, d.frees, d.items, d.ended
        FROM oxmill.hand_over_batch(
            ids, attempts, nonces, results, merge_items, merge_names, merge_values,
            next_items, next_flows, next_reads, next_ids, payloads, terms, extras, queues,
            tasks, priorities, delays, moments, expiries, next_attempts, crashes, keeps,
            groups, sizes, label_jobs, label_names, label_values, usual, usual_failed, at
        ) AS d
    )
    SELECT i.number, d.of_queue, d.moment, d.frees, o.ended[i.number]
    FROM done AS d
    CROSS JOIN LATERAL unnest(d.items) AS i (number)
    LEFT JOIN done AS o ON o.ended IS NOT NULL
    ORDER BY i.number;
END
$$;
