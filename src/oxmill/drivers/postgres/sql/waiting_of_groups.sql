-- How many jobs of these groups of a queue wait, set aside or not; no further than `most`.
-- Parameters: queue; groups, a JSON array; most.
-- Result: group_name, n.
SELECT
    asked.value,
    (
        SELECT count(*) FROM (
            SELECT 1 FROM oxmill.jobs AS j
            WHERE
                j.state = 'waiting' AND j.group_name IS NOT NULL AND j.aside IS NULL
                AND j.queue = :queue::text AND j.group_name = asked.value
            LIMIT :most::bigint
        ) AS standing
    ) + (
        SELECT count(*) FROM (
            SELECT a.group_name FROM oxmill.jobs AS a
            WHERE a.state = 'waiting' AND a.aside IS NOT NULL AND a.queue = :queue::text
            LIMIT :most::bigint
        ) AS apart
        WHERE apart.group_name = asked.value
    )
FROM json_array_elements_text(:groups::json) AS asked (value);
