-- A schedule is as given from now on; a changed one has no next tick until it is worked out.
-- Parameters: name, schedule as JSON.
INSERT INTO oxmill.schedules (name, schedule, paused) VALUES (:name::text, :schedule::text, 0)
ON CONFLICT (name) DO UPDATE SET schedule = excluded.schedule, next_at = NULL, error = NULL;
