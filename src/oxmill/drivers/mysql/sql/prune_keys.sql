-- Unique keys that nothing holds any more are free.
-- Parameters: now, most.
DELETE FROM oxmill_unique_keys
WHERE live = 0 AND hold_until <= :now AND successor IS NULL
ORDER BY hold_until, name
LIMIT :most;
