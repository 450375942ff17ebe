-- Stores plain jobs; see the function of that name.
-- Parameters: arrays of ids, payloads, terms and extras, one entry per job; arrays of the terms,
-- with the number of jobs that have each; at, the time, or NULL for the server's.
SELECT oxmill.enqueue(
    :ids::text[], :payloads::bytea[], :terms::integer[], :extras::text[], :queues::text[],
    :tasks::text[], :states::text[], :priorities::integer[], :delays::bigint[],
    :expiries::bigint[], :attempts::integer[], :crashes::integer[], :keeps::bigint[],
    :groups::text[], :sizes::bigint[], :at::bigint
);
