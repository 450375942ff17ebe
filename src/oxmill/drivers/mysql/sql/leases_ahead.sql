-- Leases granted later than now, by a clock that was stepped back since. Locks nothing.
-- Parameters: queues, a JSON array; now, tolerance.
-- Result: seq.
SELECT j.seq
FROM JSON_TABLE(
    :queues, '$[*]' COLUMNS (value VARBINARY(200) PATH '$')
) AS asked
STRAIGHT_JOIN oxmill_jobs AS j FORCE INDEX (oxmill_jobs_shelf)
    ON j.shelf = CONCAT('running ', asked.value)
WHERE j.spot > :now + :tolerance AND j.lease_until - j.lease > :now + :tolerance
LIMIT 10000;
