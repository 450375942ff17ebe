-- How many jobs of these groups of a queue wait in their lanes.
-- Parameters: queue; groups, a JSON array.
-- Result: group_name, n.
SELECT
    asked.value,
    (
        SELECT COUNT(*) FROM oxmill_jobs AS j FORCE INDEX (oxmill_jobs_shelf)
        WHERE j.shelf = CONCAT('lane ', :queue, X'00', asked.value)
    )
FROM JSON_TABLE(:groups, '$[*]' COLUMNS (value VARBINARY(200) PATH '$')) AS asked;
