-- Workers that are there learn a command with their next beat.
-- Parameters: ids, a JSON array; command, now.
UPDATE oxmill_workers SET command = :command WHERE id IN (:ids*) AND stale_at > :now;
