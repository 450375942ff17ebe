-- Stages go.
-- Parameters: names, a JSON array.
DELETE FROM oxmill.stages AS s
USING json_array_elements_text(:names::json) AS asked (value)
WHERE s.name = asked.value;
