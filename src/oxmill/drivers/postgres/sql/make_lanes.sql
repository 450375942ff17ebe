-- Jobs that were set aside have their lanes; the claim that brings them back has the gates to itself. If a
-- job makes its lane, its place is the first turn. A lane that stands behind the gate of its head
-- opens: it may have another head now.
-- Parameters: arrays of group_name, queue, priority and place, in this order.
INSERT INTO oxmill.lanes AS l (group_name, queue, priority, turn)
SELECT r.group_name, r.queue, r.priority, r.place
FROM unnest(
    :group_name::text[], :queue::text[], :priority::integer[], :place::bigint[]
) AS r (group_name, queue, priority, place)
ON CONFLICT (group_name, queue, priority) DO UPDATE SET opens_at = 0, behind = NULL
WHERE l.behind IS NOT NULL;
