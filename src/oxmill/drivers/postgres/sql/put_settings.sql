-- The settings of a queue are these from now on.
-- Parameters: queue, settings as JSON.
INSERT INTO oxmill.queue_settings (queue, settings) VALUES (:queue::text, :settings::text)
ON CONFLICT (queue) DO UPDATE SET settings = excluded.settings;
