-- Plain successes that nobody wants to keep go at once, if all of them are like this. In the words of a join,
-- which may be told its index.
-- Parameters: ids, as SQL: a list.
DELETE j
FROM oxmill_jobs AS j FORCE INDEX (oxmill_jobs_id)
WHERE @oxmill_ready AND j.id IN (:ids);
