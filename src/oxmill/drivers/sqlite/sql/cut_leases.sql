-- Leases granted later than now, by a clock that was stepped back since, get their full length
-- from now. Such leases end later than others of their length: of each queue only the `most` that end
-- last are looked at, with those that end at the same moment, and the next ones once these are cut.
-- Parameters: queues, a JSON array; now, tolerance, most.
UPDATE jobs SET lease_until = :now + lease
WHERE seq IN (
    SELECT ahead.seq
    FROM json_each(:queues) AS asked
    CROSS JOIN jobs AS ahead
    WHERE ahead.state = 'running' AND ahead.queue = asked.value
        AND ahead.lease_until >= max(
            :now + :tolerance,
            coalesce((
                SELECT last.lease_until FROM jobs AS last
                WHERE last.state = 'running' AND last.queue = asked.value
                ORDER BY last.lease_until DESC
                LIMIT 1 OFFSET :most - 1
            ), 0)
        )
        AND ahead.lease_until - ahead.lease > :now + :tolerance
);
