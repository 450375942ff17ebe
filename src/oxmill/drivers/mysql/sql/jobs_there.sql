-- Those of these jobs that are there.
-- Parameters: ids, a JSON array.
-- Result: id.
SELECT j.id
FROM JSON_TABLE(:ids, '$[*]' COLUMNS (value VARBINARY(200) PATH '$')) AS asked
STRAIGHT_JOIN oxmill_jobs AS j FORCE INDEX (oxmill_jobs_id) ON j.id = asked.value;
