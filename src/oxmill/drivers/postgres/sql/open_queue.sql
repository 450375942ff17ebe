-- All lanes of a queue open; the next claim looks again.
-- Parameters: queue.
UPDATE oxmill.lanes SET opens_at = 0, behind = NULL WHERE queue = :queue::text AND opens_at > 0;
