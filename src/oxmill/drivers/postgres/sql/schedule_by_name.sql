-- One schedule, as it will stay until the end of the transaction.
-- Parameters: name.
-- Result: schedule as JSON, paused, next_at, last_at, last_job, error.
SELECT schedule, paused, next_at, last_at, last_job, error
FROM oxmill.schedules
WHERE name = :name::text
FOR UPDATE;
