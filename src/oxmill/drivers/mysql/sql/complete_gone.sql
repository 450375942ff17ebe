-- Plain successes that nobody wants to keep go at once, if all of them are like this.
-- Parameters: ids, a JSON array.
DELETE j
FROM JSON_TABLE(:ids, '$[*]' COLUMNS (value VARBINARY(200) PATH '$')) AS asked
STRAIGHT_JOIN oxmill_jobs AS j FORCE INDEX (oxmill_jobs_id) ON j.id = asked.value
WHERE @oxmill_ready;
