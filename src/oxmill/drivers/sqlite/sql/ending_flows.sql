-- Those of these flows that end now: no job of them is live.
-- Parameters: ids, a JSON array.
-- Result: id, keep, and whether a job did not succeed that nobody waited for.
SELECT
    f.id,
    f.keep,
    f.lost OR EXISTS (
        SELECT 1
        FROM nodes AS n
        CROSS JOIN jobs AS j ON j.seq = n.job
        WHERE
            n.flow = f.id
            AND j.state IN ('failed', 'cancelled')
            AND NOT EXISTS (SELECT 1 FROM edges AS e WHERE e.upstream = n.id)
    )
FROM json_each(:ids) AS asked
CROSS JOIN flows AS f ON f.id = asked.value
WHERE f.live = 0 AND f.ended_at IS NULL AND f.published = 1;
