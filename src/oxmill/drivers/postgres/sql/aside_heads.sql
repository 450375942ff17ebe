-- The best-ranked jobs of a queue that are set aside behind a gate.
-- Parameters: queue, gate; grouped, whether only jobs of groups are meant; most.
-- Result: priority, place, seq, group_name.
SELECT j.priority, j.place, j.seq, j.group_name
FROM oxmill.jobs AS j
WHERE
    j.state = 'waiting' AND j.aside IS NOT NULL
    AND j.queue = :queue::text
    AND j.aside = :gate::text
    AND (:grouped::integer = 0 OR j.group_name IS NOT NULL)
ORDER BY j.priority, j.place
LIMIT :most::bigint;
