-- Locks the jobs to be completed, and finds whether all of them are plain successes under a valid
-- token: running, without a unique key to give back, of one queue, and to be kept for a while or,
-- if `gone` is asked for, not at all; then they must have no history, fields or tags either. Groups
-- they may have only if `grouped`: then others are told.
-- Parameters: items, a JSON array of id, attempt and nonce; many, how many; gone; grouped; usual,
-- how long successes are kept in queues without settings.
SELECT
    COUNT(*) = :many
    AND MIN(j.queue) = MAX(j.queue)
    AND (:grouped OR COUNT(j.group_name) = 0)
    AND IF(
        :gone,
        MAX(COALESCE(j.keep, s.keep_succeeded, :usual)) = 0
        AND MAX(j.attempt) = 1
        AND COUNT(j.extras) = 0,
        MIN(COALESCE(j.keep, s.keep_succeeded, :usual)) > 0
    ),
    MAX(COALESCE(j.keep, s.keep_succeeded, :usual)) = 0,
    MIN(j.queue),
    MIN(COALESCE(s.keep_succeeded, :usual)),
    COUNT(j.group_name),
    MAX(s.limits)
INTO
    @oxmill_ready, @oxmill_gone, @oxmill_queue, @oxmill_keep, @oxmill_grouped, @oxmill_limits
FROM JSON_TABLE(
    :items,
    '$[*]' COLUMNS (
        id VARBINARY(200) PATH '$[0]', attempt INT PATH '$[1]', nonce BIGINT PATH '$[2]'
    )
) AS asked
STRAIGHT_JOIN oxmill_jobs AS j FORCE INDEX (oxmill_jobs_id) ON j.id = asked.id
LEFT JOIN oxmill_queue_settings AS s ON s.queue = j.queue
WHERE
    j.state = 'running'
    AND j.attempt = asked.attempt
    AND j.nonce = asked.nonce
    AND j.unique_key IS NULL
FOR UPDATE;
