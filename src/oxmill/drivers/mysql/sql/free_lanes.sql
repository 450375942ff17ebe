-- The next claim is told that a job of this group runs no longer, or has left the line.
-- Parameters: group_name, queue, in this order.
INSERT INTO oxmill_lane_news (group_name, queue) VALUES (:group_name, :queue);
