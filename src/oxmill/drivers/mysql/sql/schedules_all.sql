-- Schedules by name, or only those that need a scheduler now.
-- Parameters: due_only, now, most.
-- Result: schedule as JSON, paused, next_at, last_at, last_job, error.
SELECT schedule, paused, next_at, last_at, last_job, error
FROM oxmill_schedules
WHERE NOT :due_only OR (NOT paused AND (next_at IS NULL OR next_at <= :now))
ORDER BY name
LIMIT :most;
