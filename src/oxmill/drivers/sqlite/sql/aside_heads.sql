-- The best-ranked jobs of a queue that are set aside behind a gate.
-- Parameters: queue, gate; grouped, whether only jobs of groups are meant; most.
-- Result: priority, place, seq, group_name.
SELECT priority, place, seq, group_name
FROM jobs INDEXED BY jobs_aside
WHERE
    state = 'waiting'
    AND queue = :queue
    AND aside = :gate
    AND (:grouped = 0 OR group_name IS NOT NULL)
ORDER BY priority, place
LIMIT :most;
