-- A tick was fired.
-- Parameters: name, next_at, last_at, last_job, error; NULL leaves last_at and last_job.
UPDATE oxmill_schedules SET
    next_at = :next_at,
    last_at = COALESCE(:last_at, last_at),
    last_job = COALESCE(:last_job, last_job),
    error = :error
WHERE name = :name;
