-- Flows go; this is about their rows in `flows`.
-- Parameters: ids, a JSON array.
DELETE FROM oxmill.flows AS t
USING json_array_elements_text(:ids::json) AS asked (value)
WHERE t.id = asked.value;
