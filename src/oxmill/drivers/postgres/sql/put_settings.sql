-- The settings of a queue are these from now on.
-- Parameters: queue, settings as JSON, limits.
INSERT INTO oxmill.queue_settings (queue, settings, limits)
VALUES (:queue::text, :settings::text, :limits::integer)
ON CONFLICT (queue) DO UPDATE SET settings = excluded.settings, limits = excluded.limits;
