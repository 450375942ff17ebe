-- Flows past their retention, the oldest first. Those that someone else is busy with are left. Closings of which
-- no flow is left are dropped.
-- Parameters: now, most.
-- Result: id.
WITH due AS MATERIALIZED (
    -- Twice as many: those that the last call has used up are still there.
    SELECT c.ctid AS at, c.prune_at, c.ended_at, c.flows
    FROM oxmill.closings AS c
    WHERE c.prune_at <= :now::bigint
    ORDER BY c.prune_at
    LIMIT 2 * :most::bigint
), closed AS MATERIALIZED (
    -- One closing after the other, until there are enough: each may list a thousand flows.
    SELECT f.id, d.prune_at, d.ended_at
    FROM due AS d
    CROSS JOIN LATERAL unnest(d.flows) AS g (id)
    JOIN oxmill.flows AS f
        ON f.id = g.id AND f.ended_at = d.ended_at AND f.prune_at IS NULL
    LIMIT :most::bigint
), spent AS (
    DELETE FROM oxmill.closings AS c
    WHERE c.ctid = ANY (ARRAY(
        SELECT d.at FROM due AS d
        WHERE NOT EXISTS (
            SELECT 1
            FROM unnest(d.flows) AS g (id)
            JOIN oxmill.flows AS f
                ON f.id = g.id AND f.ended_at = d.ended_at AND f.prune_at IS NULL
        )
    ))
), old AS MATERIALIZED (
    SELECT k.id, k.prune_at, k.ended_at FROM closed AS k
    UNION ALL
    (
        SELECT f.id, f.prune_at, f.ended_at
        FROM oxmill.flows AS f
        WHERE f.prune_at <= :now::bigint
        ORDER BY f.prune_at, f.seq
        LIMIT :most::bigint
    )
)
SELECT f.id
FROM old AS o
JOIN oxmill.flows AS f ON f.id = o.id AND f.ended_at = o.ended_at
ORDER BY o.prune_at, f.seq
LIMIT :most::bigint
FOR UPDATE OF f SKIP LOCKED;
