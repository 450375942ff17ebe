-- The next claim is told of the groups of which jobs run no longer.
-- Parameters: ids, a JSON array.
INSERT INTO oxmill_lane_news (queue, group_name)
SELECT DISTINCT j.queue, j.group_name
FROM oxmill_jobs AS j FORCE INDEX (oxmill_jobs_id)
WHERE @oxmill_ready AND j.id IN (:ids*) AND j.group_name IS NOT NULL;
