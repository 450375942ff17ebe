-- The next open lanes of a queue in the order of serving: by priority, then by turn.
-- Parameters: queue; priority, turn, group_name, the lane to go on after; worst, a priority; most.
-- Result: group_name, priority, turn, served.
SELECT l.group_name, l.priority, l.turn, l.served
FROM oxmill.lanes AS l
WHERE
    l.opens_at = 0
    AND l.queue = :queue::text
    AND (l.priority, l.turn, l.group_name)
    > (:priority::integer, :turn::bigint, :group_name::text COLLATE "C")
    AND l.priority <= :worst::integer
ORDER BY l.priority, l.turn, l.group_name
LIMIT :most::bigint;
