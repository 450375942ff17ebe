-- The queues that have jobs in this state.
-- Parameters: state.
-- Result: queue.
SELECT queue FROM tallies WHERE state = :state AND n > 0;
