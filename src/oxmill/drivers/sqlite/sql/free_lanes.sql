-- A job of this group runs no longer, or has left the line: the lanes of the group open, and the next
-- claim looks again.
-- Parameters: group_name, queue, in this order.
UPDATE lanes SET opens_at = 0, behind = NULL
WHERE group_name = :group_name AND queue = :queue AND opens_at > 0;
