-- These stages, as far as they are there, locked.
-- Parameters: names, a JSON array.
-- Result: the columns of a stage.
SELECT s.name, s.flow, s.touched_at, s.published, s.live
FROM json_array_elements_text(:names::json) AS asked (value)
JOIN oxmill.stages AS s ON s.name = asked.value
ORDER BY s.name
FOR UPDATE OF s;
