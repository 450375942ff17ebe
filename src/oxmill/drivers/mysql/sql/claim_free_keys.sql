-- Unique keys that are held only until their job has started are free.
-- To be prepared. Parameters: shelves, a JSON array, where the jobs stand that were just granted; nonce,
-- lease.
UPDATE
    oxmill_jobs AS j FORCE INDEX (oxmill_jobs_shelf)
    STRAIGHT_JOIN oxmill_unique_keys AS k FORCE INDEX (PRIMARY) ON k.name = j.unique_key
SET
    k.live = 0,
    k.hold_until = COALESCE(k.hold_until, 0)
WHERE
    @oxmill_many > 0
    AND j.shelf IN (:shelves*)
    AND j.spot = @oxmill_now + :lease
    AND j.nonce = :nonce
    AND k.holder = j.id
    AND JSON_UNQUOTE(JSON_EXTRACT(j.extras, '$.until')) = 'started';
