-- The queues with a lane of this group, or with news of one.
-- Parameters: group_name.
-- Result: queue.
SELECT DISTINCT found.queue
FROM (
    SELECT l.queue FROM oxmill.lanes AS l WHERE l.group_name = :group_name::text
    UNION ALL
    SELECT n.queue FROM oxmill.lane_news AS n
    WHERE n.group_name = :group_name::text
) AS found
ORDER BY found.queue;
