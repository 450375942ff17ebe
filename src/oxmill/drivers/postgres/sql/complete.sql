-- Settles plain successes; see the function `complete_jobs`.
-- Parameters: arrays of ids, attempts, nonces and results; usual, the retention of queues without
-- settings; gone_first, what to try first; at, the time, or NULL for the server's.
-- Result: item, of_queue, kept, frees.
SELECT item, of_queue, kept, frees
FROM oxmill.complete_jobs(
    :ids::text[], :attempts::integer[], :nonces::bigint[], :results::bytea[], :usual::bigint,
    :gone_first::boolean, :at::bigint
);
