-- The next jobs of a lane of a group that a claim may grant now.
-- Parameters: queue, group_name, priority; after, the place to go on after; now; most.
-- Result: group_name, priority, place, seq, task, due_at, extras.
SELECT :group_name, j.priority, j.place, j.seq, j.task, j.due_at, j.extras
FROM oxmill_jobs AS j FORCE INDEX (oxmill_jobs_shelf)
WHERE
    j.shelf = CONCAT('lane ', :queue, X'00', :group_name)
    AND j.spot = :priority
    AND j.place > :after
    AND (j.expires_at IS NULL OR j.expires_at > :now OR j.attempt > 0)
ORDER BY j.spot, j.place
LIMIT :most;
