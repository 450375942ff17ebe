-- Unique keys that nothing holds any more are free.
-- Parameters: now, most.
DELETE FROM unique_keys
WHERE key IN (
    SELECT key FROM unique_keys INDEXED BY unique_keys_used_up
    WHERE live = 0 AND successor IS NULL AND hold_until <= :now
    LIMIT :most
);
