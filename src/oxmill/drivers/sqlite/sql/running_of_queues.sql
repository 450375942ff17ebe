-- How many jobs of these queues run, however old their leases.
-- Parameters: queues, a JSON array.
-- Result: queue, n.
SELECT
    asked.value,
    (
        SELECT count(*) FROM jobs AS j INDEXED BY jobs_lease
        WHERE j.state = 'running' AND j.queue = asked.value
    )
FROM json_each(:queues) AS asked;
