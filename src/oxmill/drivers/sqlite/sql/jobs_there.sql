-- Those of these jobs that are there.
-- Parameters: ids, a JSON array.
-- Result: id.
SELECT j.id
FROM json_each(:ids) AS asked
CROSS JOIN jobs AS j ON j.id = asked.value;
