-- What came of it.
-- Result: whether all were recorded (or none), their queue, whether none is to be kept, how many have a
-- group, and the limits of the queue or NULL.
SELECT
    @oxmill_ready, CONVERT(@oxmill_queue USING utf8mb4), @oxmill_gone, @oxmill_grouped,
    @oxmill_limits;
