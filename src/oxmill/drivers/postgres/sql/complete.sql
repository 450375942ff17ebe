-- Settles plain successes; see the function of that name.
-- Parameters: arrays of ids, attempts, nonces and results; usual, the retention of queues without
-- settings; gone_first, what to try first; at, the time, or NULL for the server's.
-- Result: item, of_queue, kept.
SELECT item, of_queue, kept
FROM oxmill.complete(
    :ids::text[], :attempts::integer[], :nonces::bigint[], :results::bytea[], :usual::bigint,
    :gone_first::boolean, :at::bigint
);
