-- Flows have one live job less each; those that then have none end. One that ends has failed if anything
-- of it was lost, or if a job did not succeed that nobody waited for.
-- Parameters: ids, a JSON array, each once; now; keep_succeeded, keep_failed: how long they are kept.
-- Result: id, and whether it has ended.
WITH found AS MATERIALIZED (
    SELECT
        f.seq,
        f.live = 1 AND f.published = 1 AND f.ended_at IS NULL AS ends,
        f.live = 1 AND f.published = 1 AND f.ended_at IS NULL AND (
            f.lost OR EXISTS (
                SELECT 1
                FROM nodes AS n
                CROSS JOIN jobs AS j ON j.seq = n.job
                WHERE
                    n.flow = f.id
                    AND (j.state = 'failed' OR j.state = 'cancelled')
                    AND NOT EXISTS (SELECT 1 FROM edges AS e WHERE e.upstream = n.id)
            )
        ) AS failed
    FROM json_each(:ids) AS asked
    CROSS JOIN flows AS f ON f.id = asked.value
)
UPDATE flows SET
    live = live - 1,
    ended_at = iif(found.ends, :now, ended_at),
    prune_at = iif(
        found.ends,
        :now + coalesce(keep, iif(found.failed, :keep_failed, :keep_succeeded)),
        prune_at
    ),
    failed = iif(found.ends, found.failed, flows.failed)
FROM found
WHERE flows.seq = found.seq
RETURNING id, iif(live = 0 AND ended_at = :now, 1, 0);
