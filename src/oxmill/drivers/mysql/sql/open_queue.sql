-- All lanes of a queue open; the next claim looks again.
-- Parameters: queue.
UPDATE oxmill_lanes FORCE INDEX (oxmill_lanes_next) SET opens_at = 0, behind = NULL
WHERE queue = :queue AND opens_at > 0;
