-- Stages that nobody published in time, the oldest first.
-- Parameters: before, most.
-- Result: name.
SELECT s.name
FROM oxmill_stages AS s FORCE INDEX (oxmill_stages_abandoned)
WHERE s.published = 0 AND s.touched_at <= :before
ORDER BY s.touched_at, s.name
LIMIT :most;
