-- The rate of the queue is used up by so many starts more.
-- Parameters: queue; most; interval, between two starts.
INSERT INTO oxmill_meters (queue, scope, target, tat, closed_until, idle_at)
SELECT
    :queue, 'queue', '', @oxmill_tat + :most * :interval, 0, @oxmill_tat + :most * :interval
FROM oxmill_identity
WHERE @oxmill_ready
ON DUPLICATE KEY UPDATE
    tat = VALUES(tat),
    idle_at = GREATEST(VALUES(tat), closed_until);
