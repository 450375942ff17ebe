-- Ripples are done.
-- Parameters: numbers, a JSON array.
DELETE FROM oxmill.ripples AS r
USING json_array_elements_text(:numbers::json) AS asked (value)
WHERE r.n = asked.value::bigint;
