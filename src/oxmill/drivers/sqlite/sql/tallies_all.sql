-- The counts of all queues that have, or ever had, jobs.
-- Result: queue, state, n, total.
SELECT queue, state, n, total FROM tallies WHERE n <> 0 OR total <> 0;
