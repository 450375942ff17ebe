-- Jobs go. Their history, fields and keys are seen to by the caller.
-- Parameters: seqs, a JSON array.
DELETE j
FROM JSON_TABLE(
    :seqs, '$[*]' COLUMNS (number FOR ORDINALITY, value BIGINT PATH '$')
) AS asked
STRAIGHT_JOIN oxmill_jobs AS j FORCE INDEX (PRIMARY) ON j.seq = asked.value;
