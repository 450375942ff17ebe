-- Nobody else may change these unique keys, there or not, before this transaction has ended. Locks
-- are taken in one order by everybody, and before the locks on jobs.
-- Parameters: keys, a JSON array.
SELECT pg_advisory_xact_lock(hashtext('oxmill.keys'), ordered.slot)
FROM (
    SELECT DISTINCT oxmill.key_slot(asked.value) AS slot
    FROM json_array_elements_text(:keys::json) AS asked (value)
    ORDER BY slot
) AS ordered;
