-- The counts of all queues that have, or ever had, jobs.
-- Result: queue, state, n, total.
SELECT t.queue, t.name, sum(t.n)::bigint, sum(t.total)::bigint
FROM (
    SELECT queue, name, n, total FROM oxmill.counts
    UNION ALL
    SELECT queue, name, n, total FROM oxmill.count_changes
) AS t
GROUP BY t.queue, t.name
HAVING sum(t.n) <> 0 OR sum(t.total) <> 0;
