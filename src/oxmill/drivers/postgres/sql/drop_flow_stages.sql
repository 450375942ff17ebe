-- Flows go; this is about their rows in `stages`.
-- Parameters: ids, a JSON array.
DELETE FROM oxmill.stages AS t
USING json_array_elements_text(:ids::json) AS asked (value)
WHERE t.flow = asked.value;
