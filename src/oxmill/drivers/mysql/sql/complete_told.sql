-- What came of it.
-- Result: whether all were recorded (or none), their queue, and whether none is to be kept.
SELECT @oxmill_ready, CONVERT(@oxmill_queue USING utf8mb4), @oxmill_gone;
