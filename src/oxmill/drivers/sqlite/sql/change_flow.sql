-- A flow has so many more live jobs. What was lost counts until the flow has ended.
-- Parameters: delta, published, lost, id, in this order.
UPDATE flows SET
    live = live + :delta,
    published = max(published, :published),
    lost = CASE WHEN ended_at IS NULL THEN max(lost, :lost) ELSE lost END
WHERE id = :id;
