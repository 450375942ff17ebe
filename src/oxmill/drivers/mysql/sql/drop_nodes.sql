-- Jobs are parts of their flows no longer.
-- Parameters: seqs, a JSON array.
DELETE n
FROM JSON_TABLE(:seqs, '$[*]' COLUMNS (value BIGINT PATH '$')) AS asked
STRAIGHT_JOIN oxmill_nodes AS n FORCE INDEX (PRIMARY) ON n.job = asked.value;
