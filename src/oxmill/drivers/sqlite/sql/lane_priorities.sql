-- The priorities that a queue has open lanes of; each is one leap through an index.
-- Parameters: queue.
-- Result: priority.
WITH RECURSIVE found (priority) AS (
    SELECT min(priority) FROM lanes INDEXED BY lanes_open WHERE opens_at = 0 AND queue = :queue
    UNION ALL
    SELECT (
        SELECT min(priority) FROM lanes INDEXED BY lanes_open
        WHERE opens_at = 0 AND queue = :queue AND priority > found.priority
    )
    FROM found
    WHERE found.priority IS NOT NULL
)
SELECT priority FROM found WHERE priority IS NOT NULL;
