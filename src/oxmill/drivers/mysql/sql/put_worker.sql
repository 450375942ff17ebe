-- A worker is there.
-- Parameters: id, started_at, stale_at, command, info as JSON.
REPLACE INTO oxmill_workers (id, started_at, stale_at, command, info)
VALUES (:id, :started_at, :stale_at, :command, :info);
