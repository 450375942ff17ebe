-- Old events go.
-- Parameters: before, most.
DELETE FROM events
WHERE seq IN (SELECT seq FROM events INDEXED BY events_age WHERE at <= :before LIMIT :most);
