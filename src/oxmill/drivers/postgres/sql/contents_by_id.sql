-- What tells a repeated enqueue from a clash of ids.
-- Parameters: ids, a JSON array.
-- Result: id, queue, task, payload of those that are there.
SELECT j.id, j.queue, j.task, j.payload
FROM json_array_elements_text(:ids::json) AS asked (value)
JOIN oxmill.jobs AS j ON j.id = asked.value;
