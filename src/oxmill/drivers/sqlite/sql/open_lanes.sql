-- Lanes of a queue open whose moment has come, the earliest first.
-- Parameters: queue, now, most.
UPDATE lanes SET opens_at = 0, behind = NULL
WHERE (group_name, queue, priority) IN (
    SELECT group_name, queue, priority FROM lanes INDEXED BY lanes_parked
    WHERE opens_at > 0 AND queue = :queue AND opens_at <= :now
    ORDER BY opens_at
    LIMIT :most
);
