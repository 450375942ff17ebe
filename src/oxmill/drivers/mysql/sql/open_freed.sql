-- The lanes of a group of a queue open; this claim looks again.
-- Parameters: group_name, queue, in this order.
UPDATE oxmill_lanes SET opens_at = 0, behind = NULL
WHERE group_name = :group_name AND queue = :queue AND opens_at > 0;
