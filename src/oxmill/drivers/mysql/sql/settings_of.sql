-- The settings of these queues, as far as any were put.
-- Parameters: queues, a JSON array.
-- Result: queue, settings as JSON.
SELECT queue, settings FROM oxmill_queue_settings WHERE queue IN (:queues*);
