-- The counts of all queues that have, or ever had, jobs, as of one moment.
-- Result: queue, then the counts: by state, and how many ever ended in each.
SELECT
    c.queue,
    SUM(c.held) AS held,
    SUM(c.scheduled) AS scheduled,
    SUM(c.waiting) AS waiting,
    SUM(c.running) AS running,
    SUM(c.succeeded) AS succeeded,
    SUM(c.failed) AS failed,
    SUM(c.cancelled) AS cancelled,
    SUM(c.ever_succeeded) AS ever_succeeded,
    SUM(c.ever_failed) AS ever_failed,
    SUM(c.ever_cancelled) AS ever_cancelled
FROM (
    SELECT
        queue, held, scheduled, waiting, running, succeeded, failed, cancelled, ever_succeeded,
        ever_failed, ever_cancelled
    FROM oxmill_counts
    UNION ALL
    SELECT
        queue, held, scheduled, waiting, running, succeeded, failed, cancelled, ever_succeeded,
        ever_failed, ever_cancelled
    FROM oxmill_changes
) AS c
WHERE c.queue <> ''
GROUP BY c.queue;
