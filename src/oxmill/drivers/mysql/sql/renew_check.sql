-- Locks the jobs to be renewed, and finds whether all of them are held under a valid token and none
-- is asked to stop.
-- Parameters: items, a JSON array of id, attempt and nonce; many, how many.
SELECT COUNT(*) = :many
INTO @oxmill_ready
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
    AND j.cancel_requested = 0
FOR UPDATE;
