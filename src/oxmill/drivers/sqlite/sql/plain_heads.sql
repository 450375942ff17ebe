-- The next jobs of some lanes of no group that a claim may grant now.
-- Parameters: queue; lanes, a JSON array of ['', priority, place to go on after]; now; most, of each
-- lane.
-- Result: group_name, which is empty, priority, place, seq, task, due_at, extras.
SELECT '', j.priority, j.place, j.seq, j.task, j.due_at, j.extras
FROM json_each(:lanes) AS asked
CROSS JOIN jobs AS j ON j.seq IN (
    SELECT h.seq FROM jobs AS h INDEXED BY jobs_claim
    WHERE
        h.state = 'waiting'
        AND h.group_name IS NULL
        AND h.aside IS NULL
        AND h.queue = :queue
        AND h.priority = json_extract(asked.value, '$[1]')
        AND h.place > json_extract(asked.value, '$[2]')
        AND (h.expires_at IS NULL OR h.expires_at > :now OR h.attempt > 0)
    ORDER BY h.place
    LIMIT :most
);
