-- How many jobs of these groups of a queue run, however old their leases.
-- Parameters: queue; groups, a JSON array.
-- Result: group_name, n.
SELECT
    asked.value,
    (
        SELECT count(*) FROM jobs AS j INDEXED BY jobs_running
        WHERE j.state = 'running' AND j.queue = :queue AND j.group_name = asked.value
    )
FROM json_each(:groups) AS asked;
