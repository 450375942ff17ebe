-- Those of these jobs that wait, as a claim grants them, in the order asked.
-- Parameters: seqs, a JSON array.
-- Result: the columns of a lease.
SELECT
    j.seq, j.id, j.queue, j.task, j.payload, j.attempt, j.priority, j.failures, j.crashes,
    j.max_attempts, j.enqueued_at, j.group_name, j.extras, j.progress, j.unique_key
FROM JSON_TABLE(
    :seqs, '$[*]' COLUMNS (number FOR ORDINALITY, value BIGINT PATH '$')
) AS asked
STRAIGHT_JOIN oxmill_jobs AS j FORCE INDEX (PRIMARY) ON j.seq = asked.value
WHERE j.state = 'waiting'
ORDER BY asked.number;
