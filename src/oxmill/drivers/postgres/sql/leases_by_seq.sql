-- These jobs as a claim grants them, in the order asked.
-- Parameters: seqs, a JSON array.
-- Result: the columns of a lease.
SELECT
    j.seq, j.id, j.queue, j.task, j.payload, j.attempt, j.priority, j.failures, j.crashes,
    j.max_attempts, j.enqueued_at, j.group_name, j.extras, j.progress, j.unique_key
FROM json_array_elements_text(:seqs::json) WITH ORDINALITY AS asked (value, number)
JOIN oxmill.jobs AS j ON j.seq = asked.value::bigint
ORDER BY asked.number;
