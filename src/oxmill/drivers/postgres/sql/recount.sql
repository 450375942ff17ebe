-- Where the counts that are kept differ from a count of the jobs.
-- Result: queue, state, the number kept, the number there.
SELECT coalesce(k.queue, j.queue), coalesce(k.name, j.state), coalesce(k.n, 0), coalesce(j.n, 0)
FROM (
    SELECT t.queue, t.name, sum(t.n) AS n
    FROM (
        SELECT queue, name, n FROM oxmill.counts
        UNION ALL
        SELECT queue, name, n FROM oxmill.count_changes
    ) AS t
    GROUP BY t.queue, t.name
) AS k
FULL JOIN (
    SELECT queue, state, count(*) AS n FROM oxmill.jobs GROUP BY queue, state
) AS j ON j.queue = k.queue AND j.state = k.name
WHERE coalesce(k.n, 0) <> coalesce(j.n, 0);
