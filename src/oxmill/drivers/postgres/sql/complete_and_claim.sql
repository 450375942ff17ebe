-- Settles a batch of successes and claims the next jobs, in this order, in one round trip. If any of
-- the successes is not plain, nothing is claimed: the caller settles the rest first.
-- Parameters: those of `complete`, and those of `claim`.
-- Result: the columns of a lease, place and told, in three kinds of rows; see `settle_and_claim`.
SELECT
    seq, id, queue, task, payload, attempt, priority, failures, crashes, max_attempts,
    enqueued_at, group_name, extras, progress, unique_key, place, told
FROM oxmill.settle_and_claim(
    :ids::text[], :attempts::integer[], :nonces::bigint[], :results::bytea[], :usual::bigint,
    :gone_first::boolean, :queues::text[], :most::integer, :lease::bigint, :worker::text,
    :nonce::bigint, :at::bigint, :bound::integer, :tending::boolean, :priorities::integer[],
    :places::bigint[]
);
