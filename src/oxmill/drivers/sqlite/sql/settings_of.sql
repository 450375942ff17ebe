-- The settings of these queues, as far as any were put.
-- Parameters: queues, a JSON array.
-- Result: queue, settings as JSON.
SELECT s.queue, s.settings
FROM json_each(:queues) AS asked
CROSS JOIN queue_settings AS s ON s.queue = asked.value;
