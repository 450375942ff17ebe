-- The queues that have jobs in this state.
-- Parameters: state.
-- Result: queue.
SELECT queue FROM counters WHERE name = :state AND n > 0;
