-- Redriven jobs: who has not learnt of their last end waits for the next one.
-- Parameters: ids, a JSON array.
DELETE FROM oxmill.ripples AS r
USING json_array_elements_text(:ids::json) AS asked (value)
WHERE r.target = asked.value AND r.kind = 'close';
