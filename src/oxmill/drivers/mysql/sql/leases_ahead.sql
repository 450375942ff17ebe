-- Leases granted later than now, by a clock that was stepped back since. Such leases end later than others
-- of their length: only the `most` that end last are looked at. Locks nothing.
-- Parameters: queue, now, tolerance, most.
-- Result: seq.
SELECT last.seq
FROM (
    SELECT j.seq, j.lease_until - j.lease AS granted_at
    FROM oxmill_jobs AS j FORCE INDEX (oxmill_jobs_shelf)
    WHERE j.shelf = CONCAT('running ', :queue) AND j.spot > :now + :tolerance
    ORDER BY j.spot DESC
    LIMIT :most
) AS last
WHERE last.granted_at > :now + :tolerance;
