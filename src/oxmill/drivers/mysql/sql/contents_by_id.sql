-- What tells a repeated enqueue from a clash of ids.
-- Parameters: ids, a JSON array.
-- Result: id, queue, task, payload of those that are there.
SELECT j.id, j.queue, j.task, j.payload
FROM oxmill_jobs AS j FORCE INDEX (oxmill_jobs_id)
WHERE j.id IN (:ids*);
