-- Settles a batch of successes and claims the next jobs of a gated queue, in this order, in one round
-- trip. If any of the successes is not plain, nothing is claimed: the caller settles the rest first.
-- Parameters: those of `complete`, and those of `claim_gated`.
-- Result: queue, kept, frees and items as from `complete`, with all else NULL; then, with these NULL, the
-- rows of `claim_gated`.
WITH done AS MATERIALIZED (
    SELECT of_queue, kept, frees, items
    FROM oxmill.complete_batch(
        :ids::text[], :attempts::integer[], :nonces::bigint[], :results::bytea[],
        :usual::bigint, :gone_first::boolean, :at::bigint
    )
)
SELECT
    of_queue, kept, frees, items, NULL::bigint, NULL::text, NULL::text, NULL::text, NULL::bytea, NULL::integer,
    NULL::integer, NULL::integer, NULL::integer, NULL::integer, NULL::bigint, NULL::text,
    NULL::text, NULL::bytea, NULL::text, NULL::bigint, NULL::bigint, NULL::boolean
FROM done
UNION ALL
SELECT
    NULL, NULL, NULL, NULL, seq, id, queue, task, payload, attempt, priority, failures, crashes, max_attempts,
    enqueued_at, group_name, extras, progress, unique_key, now, next_due, tend
FROM oxmill.claim_gated(
    :queue::text, :most::integer, :lease::bigint, :worker::text, :nonce::bigint, :at::bigint,
    :known::text, :slots::integer, :pace::bigint, :burst::integer, :group_slots::integer,
    :group_pace::bigint, :group_burst::integer, :bound::integer
)
WHERE (SELECT coalesce(sum(cardinality(items)), 0) FROM done) = cardinality(:ids::text[]);
