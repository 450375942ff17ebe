-- Workers that have not beaten for too long are forgotten, and the one named, if any.
-- Parameters: now; id or NULL.
DELETE FROM oxmill.workers AS w
USING (
    SELECT old.id FROM oxmill.workers AS old
    WHERE old.stale_at <= :now::bigint OR old.id = :id::text
    FOR UPDATE SKIP LOCKED
) AS gone
WHERE w.id = gone.id;
