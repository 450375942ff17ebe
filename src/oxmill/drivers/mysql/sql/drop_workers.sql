-- Workers that have not beaten for too long are forgotten, and the one named, if any.
-- Parameters: now; id or NULL.
DELETE FROM oxmill_workers WHERE stale_at <= :now OR id = :id;
