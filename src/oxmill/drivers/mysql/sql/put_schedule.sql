-- A schedule is as given from now on; a changed one has no next tick until it is worked out.
-- Parameters: name, schedule as JSON.
INSERT INTO oxmill_schedules (name, schedule, paused) VALUES (:name, :schedule, 0)
ON DUPLICATE KEY UPDATE schedule = VALUES(schedule), next_at = NULL, error = NULL;
