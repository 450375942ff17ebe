-- How many jobs of these groups of a queue wait, set aside or not; no further than `most`.
-- Parameters: queue; groups, a JSON array; most.
-- Result: group_name, n.
SELECT
    asked.value,
    (
        SELECT count(*) FROM (
            SELECT 1 FROM jobs AS j INDEXED BY jobs_lane
            WHERE j.state = 'waiting' AND j.queue = :queue AND j.group_name = asked.value
            LIMIT :most
        )
    )
FROM json_each(:groups) AS asked;
