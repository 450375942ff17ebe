-- The counts of all queues that have, or ever had, jobs.
-- Result: queue, state, n, total.
SELECT queue, name, n, total FROM counters WHERE queue <> '' AND (n <> 0 OR total <> 0);
