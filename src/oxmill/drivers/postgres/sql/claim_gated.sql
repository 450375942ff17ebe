-- Claims jobs of one gated queue; see the function of that name.
-- Parameters: queue, most, lease, worker, nonce; at, the time, or NULL for the server's; known, settings
-- as JSON or NULL; slots, pace and burst, what they hold, also for each group; bound, of lanes that open.
-- Result: the columns of a lease, now, next_due, tend.
SELECT
    seq, id, queue, task, payload, attempt, priority, failures, crashes, max_attempts,
    enqueued_at, group_name, extras, progress, unique_key, now, next_due, tend
FROM oxmill.claim_gated(
    :queue::text, :most::integer, :lease::bigint, :worker::text, :nonce::bigint, :at::bigint,
    :known::text, :slots::integer, :pace::bigint, :burst::integer, :group_slots::integer,
    :group_pace::bigint, :group_burst::integer, :bound::integer
);
