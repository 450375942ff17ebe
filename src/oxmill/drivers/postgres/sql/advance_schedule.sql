-- A tick was fired.
-- Parameters: name, next_at, last_at, last_job, error; NULL leaves last_at and last_job.
UPDATE oxmill.schedules SET
    next_at = :next_at::bigint,
    last_at = coalesce(:last_at::bigint, last_at),
    last_job = coalesce(:last_job::text, last_job),
    error = :error::text
WHERE name = :name::text;
