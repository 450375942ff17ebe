-- These stages, as far as they are there.
-- Parameters: names, a JSON array.
-- Result: the columns of a stage.
SELECT s.name, s.flow, s.touched_at, s.published, s.live
FROM json_each(:names) AS asked
CROSS JOIN stages AS s ON s.name = asked.value;
