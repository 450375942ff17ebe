-- Claims jobs; see the function `settle_and_claim`.
-- Parameters: queues, an array; most, lease, worker, nonce; at, the time, or NULL for the server's;
-- bound on due jobs; tending, whether lapsed and expired jobs come first; priorities and places,
-- arrays of where to begin, or NULL.
-- Result: the columns of a lease, place and told.
SELECT
    seq, id, queue, task, payload, attempt, priority, failures, crashes, max_attempts,
    enqueued_at, group_name, extras, progress, unique_key, place, told
FROM oxmill.settle_and_claim(
    NULL, NULL, NULL, NULL, NULL, NULL,
    :queues::text[], :most::integer, :lease::bigint, :worker::text, :nonce::bigint, :at::bigint,
    :bound::integer, :tending::boolean, :priorities::integer[], :places::bigint[]
);
