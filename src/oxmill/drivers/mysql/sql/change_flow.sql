-- Flows have so many more live jobs. What was lost counts until a flow has ended.
-- Parameters: delta, published, lost, and the ids of those that change alike, in this order.
UPDATE oxmill_flows FORCE INDEX (oxmill_flows_id) SET
    live = live + :delta,
    published = GREATEST(published, :published),
    lost = IF(ended_at IS NULL, GREATEST(lost, :lost), lost)
WHERE id IN (:id*);
