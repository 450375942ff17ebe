-- The head of one queue's line, to be merged with those of other queues.
-- Parameters: queue, now, most.
-- Result: priority, place, seq, best rank first.
SELECT priority, place, seq
FROM jobs INDEXED BY jobs_claim
WHERE
    state = 'waiting'
    AND group_name IS NULL
    AND aside IS NULL
    AND queue = :queue
    AND (expires_at IS NULL OR expires_at > :now OR attempt > 0)
ORDER BY priority, place
LIMIT :most;
