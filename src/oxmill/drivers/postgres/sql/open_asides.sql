-- What is set aside behind these gates is looked at by the next claim.
-- Parameters: gates, a JSON array.
UPDATE oxmill.asides AS a SET opens_at = 0
FROM json_array_elements_text(:gates::json) AS asked (value)
WHERE a.gate = asked.value;
