-- Settles steps of flows of the usual kind, all or none; see `hand_over_batch`.
-- Parameters: arrays of ids, attempts, nonces and results; of the fields to merge; of the next steps;
-- usual and usual_failed, how long flows are kept; at, the time, or NULL for the server's.
-- Result: of_queue, moment, frees, items, and ended, a JSON array.
SELECT of_queue, moment, frees, items, array_to_json(ended)::text AS ended
FROM oxmill.hand_over_batch(
    :ids::text[], :attempts::integer[], :nonces::bigint[], :results::bytea[],
    :merge_items::integer[], :merge_names::text[], :merge_values::bytea[],
    :next_items::integer[], :next_flows::text[], :next_reads::text[], :next_ids::text[],
    :payloads::bytea[], :terms::integer[], :extras::text[], :queues_of_next::text[],
    :tasks::text[], :priorities_of_next::integer[], :delays::bigint[], :moments::bigint[],
    :expiries::bigint[], :next_attempts::integer[], :crashes::integer[], :keeps::bigint[],
    :groups::text[], :sizes::bigint[], :label_jobs::integer[], :label_names::text[],
    :label_values::text[], :usual::bigint, :usual_failed::bigint, :at::bigint
);
