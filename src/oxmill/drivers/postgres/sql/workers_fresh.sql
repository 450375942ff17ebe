-- Workers whose last beat is fresh, by start.
-- Parameters: now.
-- Result: info as JSON.
SELECT info FROM oxmill.workers WHERE stale_at > :now::bigint ORDER BY started_at, id;
