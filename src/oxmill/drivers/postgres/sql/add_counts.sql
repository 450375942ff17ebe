-- Keeps the counts in step with what the same transaction does to jobs.
-- Parameters: arrays of queues, names, n and totals to add, in this order.
INSERT INTO oxmill.count_changes (queue, name, n, total)
SELECT
    r.queue, r.name, r.n, r.total
FROM unnest(:queue::text[], :name::text[], :n::bigint[], :total::bigint[]) AS r (queue, name, n, total);
