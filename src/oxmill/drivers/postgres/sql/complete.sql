-- Settles plain successes; see the function of that name.
-- Parameters: arrays of ids, attempts, nonces and results; usual, the retention of queues without
-- settings; at, the time, or NULL for the server's.
-- Result: item, of_queue.
SELECT item, of_queue
FROM oxmill.complete(
    :ids::text[], :attempts::integer[], :nonces::bigint[], :results::bytea[], :usual::bigint,
    :at::bigint
);
