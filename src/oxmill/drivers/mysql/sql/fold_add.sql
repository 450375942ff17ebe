-- Adds changes up into the counts.
-- Parameters: numbers, a JSON array.
INSERT INTO oxmill_counts (
    queue, held, scheduled, waiting, running, succeeded, failed, cancelled, ever_succeeded,
    ever_failed, ever_cancelled
)
SELECT
    queue,
    SUM(held),
    SUM(scheduled),
    SUM(waiting),
    SUM(running),
    SUM(succeeded),
    SUM(failed),
    SUM(cancelled),
    SUM(ever_succeeded),
    SUM(ever_failed),
    SUM(ever_cancelled)
FROM oxmill_changes FORCE INDEX (PRIMARY)
WHERE number IN (:numbers*) AND queue <> ''
GROUP BY queue
ON DUPLICATE KEY UPDATE
    held = oxmill_counts.held + VALUES(held),
    scheduled = oxmill_counts.scheduled + VALUES(scheduled),
    waiting = oxmill_counts.waiting + VALUES(waiting),
    running = oxmill_counts.running + VALUES(running),
    succeeded = oxmill_counts.succeeded + VALUES(succeeded),
    failed = oxmill_counts.failed + VALUES(failed),
    cancelled = oxmill_counts.cancelled + VALUES(cancelled),
    ever_succeeded = oxmill_counts.ever_succeeded + VALUES(ever_succeeded),
    ever_failed = oxmill_counts.ever_failed + VALUES(ever_failed),
    ever_cancelled = oxmill_counts.ever_cancelled + VALUES(ever_cancelled);
