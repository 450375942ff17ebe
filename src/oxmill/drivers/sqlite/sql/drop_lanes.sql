-- A lane without jobs goes.
-- Parameters: group_name, queue, priority, in this order.
DELETE FROM lanes WHERE group_name = :group_name AND queue = :queue AND priority = :priority;
