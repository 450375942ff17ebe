-- The settings of a queue are these from now on.
-- Parameters: queue, settings as JSON.
INSERT OR REPLACE INTO queue_settings (queue, settings) VALUES (:queue, :settings);
