-- These jobs as a claim grants them, in the order asked, as far as they still wait in their lanes. Those
-- that someone else is busy with are left to them.
-- Parameters: seqs, a JSON array.
-- Result: the columns of a lease.
SELECT
    j.seq, j.id, j.queue, j.task, j.payload, j.attempt, j.priority, j.failures, j.crashes,
    j.max_attempts, j.enqueued_at, j.group_name, j.extras, j.progress, j.unique_key
FROM json_array_elements_text(:seqs::json) WITH ORDINALITY AS asked (value, number)
JOIN oxmill.jobs AS j ON j.seq = asked.value::bigint
WHERE j.state = 'waiting' AND j.aside IS NULL
ORDER BY asked.number
FOR UPDATE OF j SKIP LOCKED;
