-- How many jobs of these groups of a queue run, however old their leases.
-- Parameters: queue; groups, a JSON array.
-- Result: group_name, n.
SELECT
    asked.value,
    (
        SELECT count(*) FROM oxmill.jobs AS j
        WHERE
            j.state = 'running' AND j.group_name IS NOT NULL
            AND j.queue = :queue::text AND j.group_name = asked.value
    )
FROM json_array_elements_text(:groups::json) AS asked (value);
