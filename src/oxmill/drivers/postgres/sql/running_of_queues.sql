-- How many jobs of these queues run, however old their leases.
-- Parameters: queues, a JSON array.
-- Result: queue, n.
SELECT
    asked.value,
    (
        SELECT count(*) FROM oxmill.jobs AS j
        WHERE j.lease_until IS NOT NULL AND j.queue = asked.value
    )
FROM json_array_elements_text(:queues::json) AS asked (value);
