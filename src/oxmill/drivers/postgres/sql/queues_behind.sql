-- The queues of which jobs are set aside behind a gate.
-- Parameters: gate.
-- Result: queue.
SELECT a.queue FROM oxmill.asides AS a
WHERE
    a.gate = :gate::text
    AND EXISTS (
        SELECT 1 FROM oxmill.jobs AS j
        WHERE
            j.state = 'waiting' AND j.aside IS NOT NULL
            AND j.queue = a.queue AND j.aside = a.gate
    )
ORDER BY a.queue;
