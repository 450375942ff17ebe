-- For each queue asked about: whether it has lanes of groups, the earliest moment at which one of its
-- closed lanes is to be looked at, and the earliest for a gate with jobs set aside behind it.
-- Parameters: queues, a JSON array.
-- Result: queue, grouped, parked_at, aside_at.
SELECT
    asked.value,
    EXISTS (
        SELECT 1 FROM lanes INDEXED BY lanes_open
        WHERE opens_at = 0 AND queue = asked.value AND group_name <> ''
    )
    OR EXISTS (
        SELECT 1 FROM lanes INDEXED BY lanes_parked WHERE opens_at > 0 AND queue = asked.value
    ),
    (
        SELECT opens_at FROM lanes INDEXED BY lanes_parked
        WHERE opens_at > 0 AND queue = asked.value
        ORDER BY opens_at LIMIT 1
    ),
    (
        SELECT a.opens_at FROM asides AS a INDEXED BY asides_open
        WHERE
            a.queue = asked.value
            AND EXISTS (
                SELECT 1 FROM jobs AS j INDEXED BY jobs_aside
                WHERE j.state = 'waiting' AND j.queue = a.queue AND j.aside = a.gate
            )
        ORDER BY a.opens_at LIMIT 1
    )
FROM json_each(:queues) AS asked;
