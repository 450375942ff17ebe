-- What has become of a lane.
-- Parameters: group_name, queue, priority, turn, served, opens_at, behind, in this order.
INSERT INTO oxmill_lanes (group_name, queue, priority, turn, served, opens_at, behind)
VALUES (:group_name, :queue, :priority, :turn, :served, :opens_at, :behind)
ON DUPLICATE KEY UPDATE
    turn = VALUES(turn),
    served = VALUES(served),
    opens_at = VALUES(opens_at),
    behind = VALUES(behind);
