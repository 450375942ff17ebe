-- The best-ranked jobs of a queue that are set aside behind a gate.
-- Parameters: queue, gate; grouped, whether only jobs of groups are meant; most.
-- Result: priority, place, seq, group_name.
SELECT j.priority, j.place, j.seq, j.group_name
FROM oxmill_jobs AS j FORCE INDEX (oxmill_jobs_shelf)
WHERE
    j.shelf = CONCAT('aside ', :queue, X'00', :gate)
    AND (:grouped = 0 OR j.group_name IS NOT NULL)
ORDER BY j.spot, j.place
LIMIT :most;
