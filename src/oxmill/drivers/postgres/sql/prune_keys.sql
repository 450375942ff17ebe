-- Unique keys that nothing holds any more are free.
-- Parameters: now, most.
DELETE FROM oxmill.unique_keys AS k
USING (
    SELECT old.key FROM oxmill.unique_keys AS old
    WHERE old.live = 0 AND old.successor IS NULL AND old.hold_until <= :now::bigint
    LIMIT :most::bigint
    FOR UPDATE SKIP LOCKED
) AS gone
WHERE k.key = gone.key;
