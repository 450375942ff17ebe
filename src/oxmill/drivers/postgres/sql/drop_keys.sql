-- Unique keys are free again. The caller has their locks.
-- Parameters: keys, a JSON array.
DELETE FROM oxmill.unique_keys AS k
USING json_array_elements_text(:keys::json) AS asked (value)
WHERE k.key = asked.value;
