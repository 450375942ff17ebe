-- Flows have so many more live jobs. What was lost counts until a flow has ended.
-- Parameters: arrays of delta, published, lost and id, in this order.
UPDATE oxmill.flows AS f SET
    live = f.live + r.delta,
    published = greatest(f.published, r.published),
    lost = CASE WHEN f.ended_at IS NULL THEN greatest(f.lost, r.lost) ELSE f.lost END
FROM unnest(
    :delta::bigint[], :published::integer[], :lost::integer[], :id::text[]
) AS r (delta, published, lost, id)
WHERE f.id = r.id;
