-- A flow has so many more live jobs. What was lost counts until the flow has ended.
-- Parameters: delta, published, lost, id, in this order.
UPDATE oxmill_flows SET
    live = live + :delta,
    published = GREATEST(published, :published),
    lost = IF(ended_at IS NULL, GREATEST(lost, :lost), lost)
WHERE id = :id;
