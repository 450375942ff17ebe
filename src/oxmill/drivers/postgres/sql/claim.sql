-- Claims jobs; see the function of that name.
-- Parameters: queues, an array; most, lease, worker, nonce; at, the time, or NULL for the server's;
-- bound on due jobs; tending, whether lapsed and expired jobs come first; priorities and places,
-- arrays of where to begin, or NULL.
-- Result: the columns of a lease, place, now, next_due, tend, line_steps, tend_steps.
SELECT
    seq, id, queue, task, payload, attempt, priority, failures, crashes, max_attempts,
    enqueued_at, group_name, extras, progress, unique_key, place, now, next_due, tend,
    line_steps, tend_steps
FROM oxmill.claim(
    :queues::text[], :most::integer, :lease::bigint, :worker::text, :nonce::bigint, :at::bigint,
    :bound::integer, :tending::boolean, :priorities::integer[], :places::bigint[]
);
