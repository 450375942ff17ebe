-- Those of these workers that are there.
-- Parameters: ids, a JSON array; now.
-- Result: id, one row per worker.
SELECT id FROM oxmill_workers WHERE id IN (:ids*) AND stale_at > :now FOR UPDATE;
