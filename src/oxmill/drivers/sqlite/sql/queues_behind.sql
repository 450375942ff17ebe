-- The queues of which jobs are set aside behind a gate.
-- Parameters: gate.
-- Result: queue.
SELECT a.queue FROM asides AS a
WHERE
    a.gate = :gate
    AND EXISTS (
        SELECT 1 FROM jobs AS j INDEXED BY jobs_aside
        WHERE j.state = 'waiting' AND j.queue = a.queue AND j.aside = a.gate
    )
ORDER BY a.queue;
