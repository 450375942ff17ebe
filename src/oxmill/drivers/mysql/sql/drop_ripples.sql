-- Ripples are done.
-- Parameters: numbers, a JSON array.
DELETE r
FROM JSON_TABLE(:numbers, '$[*]' COLUMNS (value BIGINT PATH '$')) AS asked
STRAIGHT_JOIN oxmill_ripples AS r FORCE INDEX (PRIMARY) ON r.n = asked.value;
