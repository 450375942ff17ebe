-- The next open lanes of a queue in the order of serving: by priority, then by turn.
-- Parameters: queue; priority, turn, group_name, the lane to go on after; worst, a priority; most.
-- Result: group_name, priority, turn, served.
SELECT l.group_name, l.priority, l.turn, l.served
FROM oxmill_lanes AS l FORCE INDEX (oxmill_lanes_next)
WHERE
    l.queue = :queue
    AND l.opens_at = 0
    AND l.priority >= :priority
    AND l.priority <= :worst
    AND (
        l.priority > :priority
        OR l.turn > :turn
        OR (l.turn = :turn AND l.group_name > :group_name)
    )
ORDER BY l.priority, l.turn, l.group_name
LIMIT :most;
