-- Workers whose last beat is fresh, by start.
-- Parameters: now.
-- Result: info as JSON.
SELECT info FROM oxmill_workers WHERE stale_at > :now ORDER BY started_at, id;
