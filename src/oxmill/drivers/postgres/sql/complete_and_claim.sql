-- Settles a batch of successes and claims the next jobs, in this order, in one round trip. If any of
-- the successes is not plain, nothing is claimed: the caller settles the rest first.
-- Parameters: those of `complete`, and those of `claim`.
-- Result: item, queue, kept and frees as from `complete`, with all else NULL; then, with these NULL, the rows of
-- `claim`.
SELECT * FROM oxmill.complete_and_claim(
    :ids::text[], :attempts::integer[], :nonces::bigint[], :results::bytea[], :usual::bigint,
    :gone_first::boolean, :queues::text[], :most::integer, :lease::bigint, :worker::text,
    :nonce::bigint, :at::bigint, :bound::integer, :tending::boolean, :priorities::integer[],
    :places::bigint[]
);
