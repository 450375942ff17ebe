-- The counts of these queues.
-- Parameters: queues, a JSON array.
-- Result: queue, state, n, total.
SELECT t.queue, t.name, sum(t.n)::bigint, sum(t.total)::bigint
FROM (
    SELECT queue, name, n, total FROM oxmill.counts
    UNION ALL
    SELECT queue, name, n, total FROM oxmill.count_changes
) AS t
WHERE t.queue IN (SELECT asked.value FROM json_array_elements_text(:queues::json) AS asked (value))
GROUP BY t.queue, t.name
HAVING sum(t.n) <> 0 OR sum(t.total) <> 0;
