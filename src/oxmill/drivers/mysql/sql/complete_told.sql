-- What came of it.
-- Result: whether all were recorded (or none), and their queue.
SELECT @oxmill_ready, CONVERT(@oxmill_queue USING utf8mb4);
