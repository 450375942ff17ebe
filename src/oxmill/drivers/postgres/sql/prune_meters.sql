-- Meters that say nothing any more go, the oldest first.
-- Parameters: now, most.
DELETE FROM oxmill.meters AS m
USING (
    SELECT old.queue, old.scope, old.target FROM oxmill.meters AS old
    WHERE old.idle_at <= :now::bigint
    ORDER BY old.idle_at
    LIMIT :most::bigint
    FOR UPDATE SKIP LOCKED
) AS gone
WHERE m.queue = gone.queue AND m.scope = gone.scope AND m.target = gone.target;
