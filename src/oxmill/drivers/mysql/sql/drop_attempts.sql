-- Forgets the history of jobs that go.
-- Parameters: jobs, a JSON array of seqs.
DELETE a
FROM JSON_TABLE(
    :jobs, '$[*]' COLUMNS (number FOR ORDINALITY, value BIGINT PATH '$')
) AS asked
STRAIGHT_JOIN oxmill_attempts AS a FORCE INDEX (PRIMARY) ON a.job = asked.value;
