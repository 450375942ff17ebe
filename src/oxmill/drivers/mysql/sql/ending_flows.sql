-- Those of these flows that end now: no job of them is live.
-- Parameters: ids, a JSON array.
-- Result: id, keep, and whether a job did not succeed that nobody waited for.
SELECT
    f.id,
    f.keep,
    f.lost = 1 OR EXISTS (
        SELECT 1
        FROM oxmill_nodes AS n
        JOIN oxmill_jobs AS j ON j.seq = n.job
        WHERE
            n.flow = f.id
            AND j.state IN ('failed', 'cancelled')
            AND NOT EXISTS (SELECT 1 FROM oxmill_edges AS e WHERE e.upstream = n.id)
    )
FROM JSON_TABLE(:ids, '$[*]' COLUMNS (value VARBINARY(200) PATH '$')) AS asked
STRAIGHT_JOIN oxmill_flows AS f FORCE INDEX (oxmill_flows_id) ON f.id = asked.value
WHERE f.live = 0 AND f.ended_at IS NULL AND f.published = 1;
