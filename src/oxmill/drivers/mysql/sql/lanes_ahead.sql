-- The first open lanes of a queue in the order of serving, with what stands before their groups and the
-- places and numbers of their first jobs. Nothing of the jobs is read but the index.
-- Parameters: queue; most; running, as SQL: how many jobs of the group run; heads, as SQL: of each
-- depth the place and number of a job, with a blank between, or NULL.
-- Result: group_name, priority, turn, served; tat and closed_until of the group's meter, or NULL; running; heads.
SELECT l.group_name, l.priority, l.turn, l.served, m.tat, m.closed_until, :running, :heads
FROM oxmill_lanes AS l FORCE INDEX (oxmill_lanes_next)
LEFT JOIN oxmill_meters AS m FORCE INDEX (PRIMARY)
    ON m.queue = :queue AND m.scope = 'group' AND m.target = l.group_name
WHERE l.queue = :queue AND l.opens_at = 0
ORDER BY l.priority, l.turn, l.group_name
LIMIT :most;
