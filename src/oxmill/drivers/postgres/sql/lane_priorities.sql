-- The priorities that a queue has open lanes of; each is one leap through an index.
-- Parameters: queue.
-- Result: priority.
WITH RECURSIVE found (priority) AS (
    (
        SELECT l.priority FROM oxmill.lanes AS l
        WHERE l.opens_at = 0 AND l.queue = :queue::text
        ORDER BY l.priority LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT l.priority FROM oxmill.lanes AS l
        WHERE l.opens_at = 0 AND l.queue = :queue::text AND l.priority > f.priority
        ORDER BY l.priority LIMIT 1
    )
    FROM found AS f
    WHERE f.priority IS NOT NULL
)
SELECT f.priority FROM found AS f WHERE f.priority IS NOT NULL;
