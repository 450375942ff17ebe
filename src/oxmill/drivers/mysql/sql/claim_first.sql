-- The head of the only line, locked; who else claims takes what comes after it. The rows are read here,
-- where they are locked, and not once more after they were granted; what is noted of each row is its seq.
-- Parameters: most.
-- Result: the columns of a lease, and one that says nothing; best rank first.
SELECT
    j.seq, j.id, j.queue, j.task, j.payload, j.attempt, j.priority, j.failures, j.crashes,
    j.max_attempts, j.enqueued_at, j.group_name, j.extras, j.progress, j.unique_key,
    (@oxmill_chosen := CONCAT_WS(',', @oxmill_chosen, j.seq)) IS NULL
FROM oxmill_jobs AS j FORCE INDEX (oxmill_jobs_shelf)
WHERE j.shelf = @oxmill_line_0
ORDER BY j.spot, j.place
LIMIT :most
FOR UPDATE SKIP LOCKED;
