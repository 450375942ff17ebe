-- A lane without jobs goes. Who joins it meanwhile tells the next claim, which makes it again.
-- Parameters: group_name, queue, priority, in this order.
DELETE FROM oxmill_lanes
WHERE group_name = :group_name AND queue = :queue AND priority = :priority;
