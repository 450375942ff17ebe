-- Leases granted later than now, by a clock that was stepped back since, get their full length
-- from now.
-- Parameters: queues, a JSON array; now, tolerance.
UPDATE jobs SET lease_until = :now + lease
WHERE state = 'running' AND queue IN (SELECT value FROM json_each(:queues))
    AND lease_until > :now + :tolerance AND lease_until - lease > :now + :tolerance;
