-- Adds them up into the counts.
INSERT INTO oxmill_counts (
    queue, held, scheduled, waiting, running, succeeded, failed, cancelled, ever_succeeded,
    ever_failed, ever_cancelled
)
SELECT
    c.queue,
    SUM(c.held),
    SUM(c.scheduled),
    SUM(c.waiting),
    SUM(c.running),
    SUM(c.succeeded),
    SUM(c.failed),
    SUM(c.cancelled),
    SUM(c.ever_succeeded),
    SUM(c.ever_failed),
    SUM(c.ever_cancelled)
FROM JSON_TABLE(@oxmill_chosen, '$[*]' COLUMNS (number BIGINT PATH '$')) AS done
STRAIGHT_JOIN oxmill_changes AS c FORCE INDEX (PRIMARY) ON c.number = done.number
WHERE c.queue <> ''
GROUP BY c.queue
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
