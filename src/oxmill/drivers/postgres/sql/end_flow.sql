-- Flows have ended.
-- Parameters: arrays of ended_at, prune_at, failed and id, in this order.
UPDATE oxmill.flows AS f SET ended_at = r.ended_at, prune_at = r.prune_at, failed = r.failed
FROM unnest(
    :ended_at::bigint[], :prune_at::bigint[], :failed::integer[], :id::text[]
) AS r (ended_at, prune_at, failed, id)
WHERE f.id = r.id;
