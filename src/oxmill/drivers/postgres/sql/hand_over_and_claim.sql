-- Settles steps of flows of the usual kind and claims the next jobs, in this order, in one round trip.
-- If the steps were not settled, nothing is claimed: the caller settles them first.
-- Parameters: those of `hand_over`, and those of `claim`.
-- Result: the columns of a lease, place and told, in four kinds of rows; see `hand_on_and_claim`.
SELECT
    seq, id, queue, task, payload, attempt, priority, failures, crashes, max_attempts,
    enqueued_at, group_name, extras, progress, unique_key, place, told
FROM oxmill.hand_on_and_claim(
    :ids::text[], :attempts::integer[], :nonces::bigint[], :results::bytea[],
    :merge_items::integer[], :merge_names::text[], :merge_values::bytea[],
    :next_items::integer[], :next_flows::text[], :next_reads::text[], :next_ids::text[],
    :payloads::bytea[], :terms::integer[], :extras::text[], :queues_of_next::text[],
    :tasks::text[], :priorities_of_next::integer[], :delays::bigint[], :moments::bigint[],
    :expiries::bigint[], :next_attempts::integer[], :crashes::integer[], :keeps::bigint[],
    :groups::text[], :sizes::bigint[], :label_jobs::integer[], :label_names::text[],
    :label_values::text[], :usual::bigint, :usual_failed::bigint, :queues::text[],
    :most::integer, :lease::bigint, :worker::text, :nonce::bigint, :at::bigint, :bound::integer,
    :tending::boolean, :priorities::integer[], :places::bigint[]
);
