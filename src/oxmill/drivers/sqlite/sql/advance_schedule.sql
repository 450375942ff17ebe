-- A tick was fired.
-- Parameters: name, next_at, last_at, last_job, error; NULL leaves last_at and last_job.
UPDATE schedules SET
    next_at = :next_at,
    last_at = coalesce(:last_at, last_at),
    last_job = coalesce(:last_job, last_job),
    error = :error
WHERE name = :name;
