-- Keeps the counts in step with what the same transaction does to jobs.
-- Parameters: queue, name, n and total to add, in this order.
INSERT INTO counters (queue, name, n, total) VALUES (:queue, :name, :n, :total)
ON CONFLICT (queue, name) DO UPDATE SET n = n + excluded.n, total = total + excluded.total;
