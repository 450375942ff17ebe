-- The gates of a queue's jobs that are to be looked at, those longest open first.
-- Parameters: queue, now, most.
-- Result: gate.
SELECT gate FROM asides INDEXED BY asides_open
WHERE queue = :queue AND opens_at <= :now
ORDER BY opens_at, gate
LIMIT :most;
