-- The jobs at the heads of the lanes whose turn it is, one of each, in the order of serving. It is of the
-- usual kind if there are as many lanes as jobs are asked for, all of one priority, none of them empty, and no
-- group that is closed. Nothing of the jobs is read but the index.
-- Parameters: queue, most.
SELECT
    COUNT(ahead.head) = :most
    AND MIN(ahead.priority) = MAX(ahead.priority)
    AND MAX(ahead.closed_until) <= @oxmill_now,
    GROUP_CONCAT(
        SUBSTRING_INDEX(ahead.head, ' ', -1) ORDER BY ahead.turn, ahead.group_name
    ),
    BIT_XOR(
        CONV(LEFT(MD5(CONCAT(ahead.shelf, ' ', ahead.priority, ' ', ahead.head)), 16), 16, 10)
    ),
    MAX(ahead.priority),
    MAX(ahead.turn),
    COUNT(ahead.second) < :most
INTO
    @oxmill_ready, @oxmill_chosen, @oxmill_stand, @oxmill_priority, @oxmill_last, @oxmill_emptied
FROM (
    SELECT
        l.group_name, l.priority, l.turn, COALESCE(m.closed_until, 0) AS closed_until,
        CONCAT('lane ', :queue, X'00', l.group_name) AS shelf,
        (
            SELECT CONCAT(h.place, ' ', h.seq)
            FROM oxmill_jobs AS h FORCE INDEX (oxmill_jobs_shelf)
            WHERE h.shelf = CONCAT('lane ', :queue, X'00', l.group_name) AND h.spot = l.priority
            ORDER BY h.spot, h.place
            LIMIT 1
        ) AS head,
        (
            SELECT h.seq
            FROM oxmill_jobs AS h FORCE INDEX (oxmill_jobs_shelf)
            WHERE h.shelf = CONCAT('lane ', :queue, X'00', l.group_name) AND h.spot = l.priority
            ORDER BY h.spot, h.place
            LIMIT 1 OFFSET 1
        ) AS second
    FROM oxmill_lanes AS l FORCE INDEX (oxmill_lanes_next)
    LEFT JOIN oxmill_meters AS m FORCE INDEX (PRIMARY)
        ON m.queue = :queue AND m.scope = 'group' AND m.target = l.group_name
    WHERE @oxmill_ready AND l.queue = :queue AND l.opens_at = 0
    ORDER BY l.priority, l.turn, l.group_name
    LIMIT :most
) AS ahead;
