-- Jobs of these groups run no longer, or have left the line: the next claim is told.
-- Parameters: arrays of group_name and queue, in this order.
INSERT INTO oxmill.lane_news (group_name, queue)
SELECT r.group_name, r.queue
FROM unnest(:group_name::text[], :queue::text[]) AS r (group_name, queue);
