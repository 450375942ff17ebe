-- For each queue asked about: whether it has lanes of groups, the earliest moment at which one of its
-- closed lanes is to be looked at, and the earliest for a gate with jobs set aside behind it.
-- Parameters: queues, a JSON array.
-- Result: queue, grouped, parked_at, aside_at.
SELECT
    asked.value,
    EXISTS (
        SELECT 1 FROM oxmill.lanes AS l
        WHERE l.opens_at = 0 AND l.queue = asked.value AND l.group_name <> ''
    )
    OR EXISTS (SELECT 1 FROM oxmill.lanes AS l WHERE l.opens_at > 0 AND l.queue = asked.value),
    (
        SELECT l.opens_at FROM oxmill.lanes AS l
        WHERE l.opens_at > 0 AND l.queue = asked.value
        ORDER BY l.opens_at LIMIT 1
    ),
    (
        SELECT a.opens_at FROM oxmill.asides AS a
        WHERE
            a.queue = asked.value
            AND (
                SELECT 1 FROM oxmill.jobs AS j
                WHERE
                    j.state = 'waiting' AND j.aside IS NOT NULL
                    AND j.queue = a.queue AND j.aside = a.gate
                LIMIT 1
            ) IS NOT NULL
        ORDER BY a.opens_at LIMIT 1
    )
FROM json_array_elements_text(:queues::json) AS asked (value);
