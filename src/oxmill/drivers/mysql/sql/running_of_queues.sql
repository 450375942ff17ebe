-- How many jobs of these queues run, however old their leases.
-- Parameters: queues, a JSON array.
-- Result: queue, n.
SELECT
    asked.value,
    (
        SELECT COUNT(*) FROM oxmill_jobs AS j FORCE INDEX (oxmill_jobs_shelf)
        WHERE j.shelf = CONCAT('running ', asked.value)
    )
FROM JSON_TABLE(:queues, '$[*]' COLUMNS (value VARBINARY(200) PATH '$')) AS asked;
