-- Lanes without jobs go. Who joins one meanwhile tells the next claim, which makes it again.
-- Parameters: lanes, a JSON array of [group_name, queue, priority].
DELETE l
FROM JSON_TABLE(
    :lanes,
    '$[*]' COLUMNS (
        group_name VARBINARY(200) PATH '$[0]', queue VARBINARY(200) PATH '$[1]',
        priority INT PATH '$[2]'
    )
) AS gone
STRAIGHT_JOIN oxmill_lanes AS l FORCE INDEX (PRIMARY)
    ON l.group_name = gone.group_name AND l.queue = gone.queue AND l.priority = gone.priority;
