-- Redriven jobs: who has not learnt of their last end waits for the next one.
-- Parameters: ids, a JSON array.
DELETE r
FROM JSON_TABLE(:ids, '$[*]' COLUMNS (value VARBINARY(200) PATH '$')) AS asked
STRAIGHT_JOIN oxmill_ripples AS r FORCE INDEX (oxmill_ripples_target) ON r.target = asked.value
WHERE r.kind = 'close';
