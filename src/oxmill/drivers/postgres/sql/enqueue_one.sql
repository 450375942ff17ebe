-- Stores a single job without unique key and labels; see the function of that name.
-- Parameters: what the job says; at, the time, or NULL for the server's.
-- Result: now.
SELECT oxmill.enqueue_one(
    :id::text, :payload::bytea, :extras::text, :queue::text, :task::text, :priority::integer,
    :delay::bigint, :run_at::bigint, :expiry::bigint, :attempts::integer, :crashes::integer,
    :keep::bigint, :group_name::text, :at::bigint
);
