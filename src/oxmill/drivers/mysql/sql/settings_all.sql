-- The settings of all queues for which any were put.
-- Result: queue, settings as JSON.
SELECT queue, settings FROM oxmill_queue_settings;
