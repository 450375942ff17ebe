-- One schedule.
-- Parameters: name.
-- Result: schedule as JSON, paused, next_at, last_at, last_job, error.
SELECT schedule, paused, next_at, last_at, last_job, error
FROM oxmill_schedules
WHERE name = :name;
