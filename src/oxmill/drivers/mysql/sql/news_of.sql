-- What has happened to the lanes of these queues since the last claim, as far as it is committed.
-- Parameters: queues, a JSON array; most.
-- Result: number, group_name, queue, priority or NULL, place or NULL.
SELECT n.number, n.group_name, n.queue, n.priority, n.place
FROM oxmill_lane_news AS n FORCE INDEX (oxmill_lane_news_of)
WHERE n.queue IN (:queues*)
ORDER BY n.queue, n.number
LIMIT :most;
