-- A job has its lane; the claim that brings it has the gates to itself. If it makes it, its place is the
-- first turn. A lane that stands behind the gate of its head opens: it may have another head now.
-- Parameters: group_name, queue, priority, place, in this order.
INSERT INTO oxmill_lanes (group_name, queue, priority, turn)
VALUES (:group_name, :queue, :priority, :place)
ON DUPLICATE KEY UPDATE
    opens_at = IF(behind IS NULL, opens_at, 0),
    behind = NULL;
