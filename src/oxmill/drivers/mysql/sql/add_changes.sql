-- Keeps the counts in step with what the same transaction does to jobs.
-- Parameters: the queue, then by how much each count changes, in this order.
-- Result: the number of the first row, which the caller may use as its own.
INSERT INTO oxmill_changes (
    queue, held, scheduled, waiting, running, succeeded, failed, cancelled, ever_succeeded,
    ever_failed, ever_cancelled
)
VALUES (
    :queue, :held, :scheduled, :waiting, :running, :succeeded, :failed, :cancelled,
    :ever_succeeded, :ever_failed, :ever_cancelled
);
