-- The settings of these queues, as far as any were put.
-- Parameters: queues, a JSON array.
-- Result: queue, settings as JSON.
SELECT s.queue, s.settings
FROM json_array_elements_text(:queues::json) AS asked (value)
JOIN oxmill.queue_settings AS s ON s.queue = asked.value;
