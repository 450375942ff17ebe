-- Workers that are there learn a command with their next beat.
-- Parameters: ids, a JSON array; command, now.
-- Result: id, one row per worker.
UPDATE workers SET command = :command
WHERE id IN (SELECT value FROM json_each(:ids)) AND stale_at > :now
RETURNING id;
