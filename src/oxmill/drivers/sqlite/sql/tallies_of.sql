-- The counts of these queues.
-- Parameters: queues, a JSON array.
-- Result: queue, state, n, total.
SELECT t.queue, t.name, t.n, t.total
FROM json_each(:queues) AS asked
CROSS JOIN counters AS t ON t.queue = asked.value
WHERE t.n <> 0 OR t.total <> 0;
