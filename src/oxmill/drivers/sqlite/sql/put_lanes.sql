-- What has become of a lane.
-- Parameters: group_name, queue, priority, turn, served, opens_at, behind, in this order.
INSERT INTO lanes (group_name, queue, priority, turn, served, opens_at, behind)
VALUES (:group_name, :queue, :priority, :turn, :served, :opens_at, :behind)
ON CONFLICT (group_name, queue, priority) DO UPDATE SET
    turn = excluded.turn,
    served = excluded.served,
    opens_at = excluded.opens_at,
    behind = excluded.behind;
