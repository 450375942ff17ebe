-- The queues with a lane of this group.
-- Parameters: group_name.
-- Result: queue.
SELECT DISTINCT queue FROM lanes WHERE group_name = :group_name ORDER BY queue;
