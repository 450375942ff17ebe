-- Stages that nobody published in time, the oldest first. Those that someone else is busy with are
-- left: they are being published.
-- Parameters: before, most.
-- Result: name.
SELECT s.name
FROM oxmill.stages AS s
WHERE s.published = 0 AND s.touched_at <= :before::bigint
ORDER BY s.touched_at, s.name
LIMIT :most::bigint
FOR UPDATE OF s SKIP LOCKED;
