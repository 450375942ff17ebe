-- Locks the jobs to be completed, and finds whether all of them are plain successes under a valid
-- token: running, without a unique key to give back, to be kept for a while, of one queue.
-- Parameters: items, a JSON array of id, attempt, nonce and result; many, how many; usual, how long
-- successes are kept in queues without settings.
SELECT
    COUNT(*) = :many
    AND MIN(j.queue) = MAX(j.queue)
    AND MIN(COALESCE(j.keep, s.keep_succeeded, :usual)) > 0,
    MIN(j.queue),
    MIN(COALESCE(s.keep_succeeded, :usual))
INTO @oxmill_ready, @oxmill_queue, @oxmill_keep
FROM JSON_TABLE(
    :items,
    '$[*]' COLUMNS (
        id VARBINARY(200) PATH '$[0]', attempt INT PATH '$[1]', nonce BIGINT PATH '$[2]'
    )
) AS asked
STRAIGHT_JOIN oxmill_jobs AS j ON j.id = asked.id
LEFT JOIN oxmill_queue_settings AS s ON s.queue = j.queue
WHERE
    j.state = 'running'
    AND j.attempt = asked.attempt
    AND j.nonce = asked.nonce
    AND j.unique_key IS NULL
FOR UPDATE;
