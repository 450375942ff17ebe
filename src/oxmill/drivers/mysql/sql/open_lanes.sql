-- Lanes of a queue open whose moment has come, the earliest first.
-- Parameters: queue, now, most.
UPDATE oxmill_lanes FORCE INDEX (oxmill_lanes_next) SET opens_at = 0, behind = NULL
WHERE queue = :queue AND opens_at > 0 AND opens_at <= :now
ORDER BY opens_at
LIMIT :most;
