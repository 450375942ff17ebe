-- The same for successes with results.
-- Parameters: items, a JSON array of id, attempt, nonce and result, which is base64 text.
UPDATE
    JSON_TABLE(
        :items,
        '$[*]' COLUMNS (id VARBINARY(200) PATH '$[0]', result LONGTEXT PATH '$[3]')
    ) AS asked
    STRAIGHT_JOIN oxmill_jobs AS j FORCE INDEX (oxmill_jobs_id) ON j.id = asked.id
SET
    j.state = 'succeeded',
    j.reason = NULL,
    j.last_outcome = 'complete',
    j.lease_until = NULL,
    j.ended_at = @oxmill_now,
    j.prune_at = @oxmill_now + COALESCE(j.keep, @oxmill_keep),
    j.result = COALESCE(FROM_BASE64(asked.result), j.result)
WHERE @oxmill_ready;
