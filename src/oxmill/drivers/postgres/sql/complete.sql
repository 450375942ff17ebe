-- Settles plain successes; see the function `complete_batch`.
-- Parameters: arrays of ids, attempts, nonces and results; usual, the retention of queues without
-- settings; gone_first, what to try first; at, the time, or NULL for the server's.
-- Result: of_queue, kept, frees, items.
SELECT of_queue, kept, frees, items
FROM oxmill.complete_batch(
    :ids::text[], :attempts::integer[], :nonces::bigint[], :results::bytea[], :usual::bigint,
    :gone_first::boolean, :at::bigint
);
