-- Old events go.
-- Parameters: before, most.
DELETE FROM oxmill.events AS e
USING (
    SELECT old.seq FROM oxmill.events AS old
    WHERE old.at <= :before::bigint
    LIMIT :most::bigint
    FOR UPDATE SKIP LOCKED
) AS gone
WHERE e.seq = gone.seq;
