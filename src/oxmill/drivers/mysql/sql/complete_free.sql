-- The next claim is told of the groups of which jobs run no longer, if that may open anything: without
-- settings nobody keeps limits (4 for groups) from being set just now.
-- Parameters: ids, a JSON array.
INSERT INTO oxmill_lane_news (queue, group_name)
SELECT DISTINCT j.queue, j.group_name
FROM oxmill_jobs AS j FORCE INDEX (oxmill_jobs_id)
WHERE
    @oxmill_ready
    AND COALESCE(@oxmill_limits, 4) & 4
    AND j.id IN (:ids*)
    AND j.group_name IS NOT NULL;
