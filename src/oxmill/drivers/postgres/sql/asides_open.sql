-- The gates of a queue's jobs that are to be looked at, those longest open first.
-- Parameters: queue, now, most.
-- Result: gate.
SELECT a.gate FROM oxmill.asides AS a
WHERE a.queue = :queue::text AND a.opens_at <= :now::bigint
ORDER BY a.opens_at, a.gate
LIMIT :most::bigint;
