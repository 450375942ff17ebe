-- The same for the unique keys of these jobs: a job never changes its key.
-- Parameters: ids, a JSON array.
SELECT pg_advisory_xact_lock(hashtext('oxmill.keys'), ordered.slot)
FROM (
    SELECT DISTINCT oxmill.key_slot(j.unique_key) AS slot
    FROM json_array_elements_text(:ids::json) AS asked (value)
    JOIN oxmill.jobs AS j ON j.id = asked.value
    WHERE j.unique_key IS NOT NULL
    ORDER BY slot
) AS ordered;
