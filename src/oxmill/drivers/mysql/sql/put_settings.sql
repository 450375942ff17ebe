-- The settings of a queue are these from now on.
-- Parameters: queue, settings as JSON.
REPLACE INTO oxmill_queue_settings (queue, settings, keep_succeeded)
VALUES (:queue, :settings, JSON_EXTRACT(:settings, '$.keep_succeeded'));
