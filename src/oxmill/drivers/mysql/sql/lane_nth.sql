-- Of each of some lanes of groups the job at one place, as it stands in the index: nothing but that is read.
-- Parameters: queue; lanes, a JSON array of [group_name, priority, the place to go on after]; nth, from 0.
-- Result: seq, or NULL if the lane is shorter.
SELECT
    (
        SELECT h.seq
        FROM oxmill_jobs AS h FORCE INDEX (oxmill_jobs_shelf)
        WHERE
            h.shelf = CONCAT('lane ', :queue, X'00', asked.group_name)
            AND h.spot = asked.priority
            AND h.place > asked.after_place
        ORDER BY h.spot, h.place
        LIMIT 1 OFFSET :nth
    ) AS seq
FROM JSON_TABLE(
    :lanes,
    '$[*]' COLUMNS (
        group_name VARBINARY(200) PATH '$[0]', priority INT PATH '$[1]',
        after_place BIGINT PATH '$[2]'
    )
) AS asked;
