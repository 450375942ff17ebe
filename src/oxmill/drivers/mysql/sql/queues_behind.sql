-- The queues of which jobs are set aside behind a gate.
-- Parameters: gate.
-- Result: queue.
SELECT a.queue
FROM oxmill_asides AS a
WHERE
    a.gate = :gate
    AND EXISTS (
        SELECT 1 FROM oxmill_jobs AS j FORCE INDEX (oxmill_jobs_shelf)
        WHERE j.shelf = CONCAT('aside ', a.queue, X'00', a.gate)
    )
ORDER BY a.queue;
