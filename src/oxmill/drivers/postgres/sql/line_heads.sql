-- The head of one queue's plain line, to be merged with those of other queues.
-- Parameters: queue, now, most.
-- Result: priority, place, seq, best rank first.
SELECT j.priority, j.place, j.seq
FROM oxmill.jobs AS j
WHERE
    j.state = 'waiting' AND j.group_name IS NULL AND j.aside IS NULL
    AND j.queue = :queue::text
    AND (j.expires_at IS NULL OR j.expires_at > :now::bigint OR j.attempt > 0)
ORDER BY j.priority, j.place
LIMIT :most::bigint;
