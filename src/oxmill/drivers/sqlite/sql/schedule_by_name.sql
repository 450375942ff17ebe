-- One schedule.
-- Parameters: name.
-- Result: schedule as JSON, paused, next_at, last_at, last_job, error.
SELECT schedule, paused, next_at, last_at, last_job, error FROM schedules WHERE name = :name;
