-- A job that was set aside has its lane. If it makes it, its place is the first turn. A lane that stands behind the
-- gate of its head opens: it may have another head now.
-- Parameters: group_name, queue, priority, place, in this order.
INSERT INTO lanes (group_name, queue, priority, turn)
VALUES (:group_name, :queue, :priority, :place)
ON CONFLICT (group_name, queue, priority) DO UPDATE SET opens_at = 0, behind = NULL
WHERE behind IS NOT NULL;
