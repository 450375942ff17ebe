-- Keeps the counts in step with what the same transaction does to jobs.
-- Parameters: arrays of queues, names, n and totals to add, in this order.
INSERT INTO oxmill.count_changes (queue, name, n, total)
SELECT * FROM unnest(:queue::text[], :name::text[], :n::bigint[], :total::bigint[]);
