-- Settles a batch of successes and claims the next jobs, in this order, in one round trip. If any of
-- the successes is not plain, nothing is claimed: the caller settles the rest first.
-- Parameters: those of `complete`, and those of `claim`.
-- Result: item, queue, kept and frees as from `complete`, with all else NULL; then, with these NULL, the rows of
-- `claim`.
SELECT
    item, of_queue, kept, frees, seq, id, queue, task, payload, attempt, priority, failures,
    crashes, max_attempts, enqueued_at, group_name, extras, progress, unique_key, place, now, next_due,
    tend, line_steps, tend_steps
FROM oxmill.complete_and_claim(
    :ids::text[], :attempts::integer[], :nonces::bigint[], :results::bytea[], :usual::bigint,
    :gone_first::boolean, :queues::text[], :most::integer, :lease::bigint, :worker::text,
    :nonce::bigint, :at::bigint, :bound::integer, :tending::boolean, :priorities::integer[],
    :places::bigint[]
);
