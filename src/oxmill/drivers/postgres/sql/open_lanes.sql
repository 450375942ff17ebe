-- Lanes of a queue open whose moment has come, the earliest first.
-- Parameters: queue, now, most.
UPDATE oxmill.lanes AS l SET opens_at = 0, behind = NULL
FROM (
    SELECT p.group_name, p.queue, p.priority FROM oxmill.lanes AS p
    WHERE p.opens_at > 0 AND p.queue = :queue::text AND p.opens_at <= :now::bigint
    ORDER BY p.opens_at
    LIMIT :most::bigint
) AS due
WHERE l.group_name = due.group_name AND l.queue = due.queue AND l.priority = due.priority;
