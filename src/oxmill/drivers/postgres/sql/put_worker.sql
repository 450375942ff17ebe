-- A worker is there. A command given since it was read stays.
-- Parameters: id, started_at, stale_at, command, info as JSON.
INSERT INTO oxmill.workers (id, started_at, stale_at, command, info)
VALUES (:id::text, :started_at::bigint, :stale_at::bigint, :command::text, :info::text)
ON CONFLICT (id) DO UPDATE SET stale_at = excluded.stale_at, info = excluded.info;
