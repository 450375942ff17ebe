-- Locks the jobs to be completed, and finds whether all of them are running under a valid token, of one
-- queue, and without a unique key to give back. Groups they may have only if `grouped`: then others are
-- told. If `gone` is asked for they must have no history, fields or tags.
-- Parameters: items, a JSON array of id, attempt and nonce; many, how many; gone; grouped.
SELECT
    COUNT(*) = :many
    AND MIN(j.queue) = MAX(j.queue)
    AND (:grouped OR COUNT(j.group_name) = 0)
    AND (NOT :gone OR (MAX(j.attempt) = 1 AND COUNT(j.extras) = 0)),
    MIN(j.queue),
    COUNT(j.keep) < COUNT(*),
    MIN(j.keep),
    MAX(j.keep),
    COUNT(j.group_name)
INTO
    @oxmill_ready, @oxmill_queue, @oxmill_unsaid, @oxmill_least, @oxmill_longest, @oxmill_grouped
FROM JSON_TABLE(
    :items,
    '$[*]' COLUMNS (
        id VARBINARY(200) PATH '$[0]', attempt INT PATH '$[1]', nonce BIGINT PATH '$[2]'
    )
) AS asked
STRAIGHT_JOIN oxmill_jobs AS j FORCE INDEX (oxmill_jobs_id) ON j.id = asked.id
WHERE
    j.state = 'running'
    AND j.attempt = asked.attempt
    AND j.nonce = asked.nonce
    AND j.unique_key IS NULL
FOR UPDATE;
