-- The next claim is told of a waiting job in its lane; its place is the first turn if it makes it.
-- Parameters: group_name, queue, priority, place, in this order.
INSERT INTO oxmill_lane_news (group_name, queue, priority, place)
VALUES (:group_name, :queue, :priority, :place);
