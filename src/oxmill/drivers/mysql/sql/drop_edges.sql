-- Jobs go: what they waited for is forgotten.
-- Parameters: seqs, a JSON array.
DELETE e
FROM JSON_TABLE(:seqs, '$[*]' COLUMNS (value BIGINT PATH '$')) AS asked
STRAIGHT_JOIN oxmill_edges AS e FORCE INDEX (PRIMARY) ON e.dependent = asked.value;
