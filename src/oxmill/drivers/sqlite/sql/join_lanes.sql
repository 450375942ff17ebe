-- A waiting job has its lane. If it makes it, its place is the first turn.
-- Parameters: group_name, queue, priority, place, in this order.
INSERT INTO lanes (group_name, queue, priority, turn)
VALUES (:group_name, :queue, :priority, :place)
ON CONFLICT (group_name, queue, priority) DO NOTHING;
