-- The settings of a queue are these from now on.
-- Parameters: queue, settings as JSON, limits.
REPLACE INTO oxmill_queue_settings (queue, settings, limits, keep_succeeded)
VALUES (:queue, :settings, :limits, JSON_EXTRACT(:settings, '$.keep_succeeded'));
