-- What `settle_and_claim` does, for the last version of the code: what `complete_jobs` does, then what
-- `claim` does. Nothing is claimed unless every item was settled.
-- Result: the columns of `complete_jobs`, with all else NULL; then, with these NULL, the rows of `claim`.
CREATE OR REPLACE FUNCTION oxmill.complete_and_claim(
    ids text[], attempts integer[], nonces bigint[], results bytea[], usual bigint,
    gone_first boolean, wanted text[], most integer, length bigint, holder text, mark bigint,
    at bigint, bound integer, tending boolean, priorities integer[], places bigint[]
) RETURNS TABLE (
    item integer, of_queue text, kept boolean, frees boolean, seq bigint, id text, queue text,
    task text, payload bytea, attempt integer, priority integer, failures integer,
    crashes integer, max_attempts integer, enqueued_at bigint, group_name text, extras text,
    progress bytea, unique_key text, place bigint, now bigint, next_due bigint, tend boolean,
    line_steps bigint, tend_steps bigint
)
LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    settled integer;
BEGIN
    RETURN QUERY
    SELECT
        c.item, c.of_queue, c.kept, c.frees, NULL::bigint, NULL, NULL, NULL, NULL::bytea,
        NULL::integer, NULL::integer, NULL::integer, NULL::integer, NULL::integer, NULL::bigint,
        NULL, NULL, NULL::bytea, NULL, NULL::bigint, NULL::bigint, NULL::bigint, NULL::boolean,
        NULL::bigint, NULL::bigint
    FROM oxmill.complete_jobs(ids, attempts, nonces, results, usual, gone_first, at) AS c;
    GET DIAGNOSTICS settled = ROW_COUNT;
    IF settled = cardinality(ids) THEN
        RETURN QUERY
        SELECT NULL::integer, NULL, NULL::boolean, NULL::boolean, c.*
        FROM oxmill.claim(
            wanted, most, length, holder, mark, at, bound, tending, priorities, places
        ) AS c;
    END IF;
END
$$;
