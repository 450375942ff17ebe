-- Schedules by name, or only those that need a scheduler now.
-- Parameters: due_only, now, most.
-- Result: schedule as JSON, paused, next_at, last_at, last_job, error.
SELECT schedule, paused, next_at, last_at, last_job, error
FROM oxmill.schedules
WHERE :due_only::integer = 0 OR (paused = 0 AND (next_at IS NULL OR next_at <= :now::bigint))
ORDER BY name
LIMIT :most::bigint;
