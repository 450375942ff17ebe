-- The gates of a queue's jobs that are to be looked at, those longest open first.
-- Parameters: queue, now, most.
-- Result: gate.
SELECT a.gate
FROM oxmill_asides AS a FORCE INDEX (oxmill_asides_open)
WHERE a.queue = :queue AND a.opens_at <= :now
ORDER BY a.opens_at, a.gate
LIMIT :most;
