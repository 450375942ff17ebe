-- Jobs of these groups run no longer, or have left the line: the next claim is told.
-- Parameters: arrays of group_name and queue, in this order.
INSERT INTO oxmill.lane_news (queue, freed)
SELECT r.queue, array_agg(r.group_name)
FROM unnest(:group_name::text[], :queue::text[]) AS r (group_name, queue)
GROUP BY r.queue;
