-- Stores new jobs without unique keys; see the function of that name.
-- Parameters: arrays of ids, payloads, terms and extras, one entry per job; arrays of the terms,
-- with the number of jobs that have each; arrays of labels; at, the time, or NULL for the server's.
-- Result: now.
SELECT oxmill.enqueue(
    :ids::text[], :payloads::bytea[], :terms::integer[], :extras::text[], :queues::text[],
    :tasks::text[], :priorities::integer[], :delays::bigint[], :moments::bigint[],
    :expiries::bigint[], :attempts::integer[], :crashes::integer[], :keeps::bigint[],
    :groups::text[], :sizes::bigint[], :label_jobs::integer[], :label_names::text[],
    :label_values::text[], :at::bigint
);
