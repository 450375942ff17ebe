-- The settings of a queue are these from now on.
-- Parameters: queue, settings as JSON, limits.
INSERT OR REPLACE INTO queue_settings (queue, settings, limits)
VALUES (:queue, :settings, :limits);
