-- Old events go.
-- Parameters: before, most.
DELETE FROM oxmill_events WHERE at <= :before ORDER BY at, seq LIMIT :most;
