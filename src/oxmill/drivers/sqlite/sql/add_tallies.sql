-- Keeps the counts in step with what the same transaction does to jobs.
-- Parameters: queue, state, n and total to add, in this order.
INSERT INTO tallies (queue, state, n, total) VALUES (:queue, :state, :n, :total)
ON CONFLICT (queue, state) DO UPDATE SET n = n + excluded.n, total = total + excluded.total;
