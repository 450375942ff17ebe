-- The next open lanes of a queue in the order of serving: by priority, then by turn.
-- Parameters: queue; priority, turn, group_name, the lane to go on after; worst, a priority; most.
-- Result: group_name, priority, turn, served.
SELECT group_name, priority, turn, served
FROM lanes INDEXED BY lanes_open
WHERE
    opens_at = 0
    AND queue = :queue
    AND (priority, turn, group_name) > (:priority, :turn, :group_name)
    AND priority <= :worst
ORDER BY priority, turn, group_name
LIMIT :most;
