-- The next jobs of some lanes of no group that a claim may grant now.
-- Parameters: queue; lanes, a JSON array of ['', priority, place to go on after]; now; most, of each
-- lane.
-- Result: group_name, which is empty, priority, place, seq, task, due_at, extras.
SELECT '', head.priority, head.place, head.seq, head.task, head.due_at, head.extras
FROM json_array_elements(:lanes::json) AS asked (value)
CROSS JOIN LATERAL (
    SELECT j.group_name, j.priority, j.place, j.seq, j.task, j.due_at, j.extras
    FROM oxmill.jobs AS j
    WHERE
        j.state = 'waiting' AND j.group_name IS NULL AND j.aside IS NULL
        AND j.queue = :queue::text
        AND j.priority = (asked.value ->> 1)::integer
        AND j.place > (asked.value ->> 2)::bigint
        AND (j.expires_at IS NULL OR j.expires_at > :now::bigint OR j.attempt > 0)
    ORDER BY j.place
    LIMIT :most::bigint
) AS head;
