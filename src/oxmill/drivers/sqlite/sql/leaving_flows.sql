-- What becomes of flows that have one live job less each, all of them as one JSON array. Those that then have
-- none end. One that ends has failed if anything of it was lost, or if a job did not succeed that nobody
-- waited for.
-- Parameters: ids, a JSON array, each once.
-- Result: id, seq, keep, whether it ends, whether it has failed then.
SELECT json_group_array(
    json_array(
        f.id,
        f.seq,
        f.keep,
        f.live = 1 AND f.published = 1 AND f.ended_at IS NULL,
        f.live = 1 AND (
            f.lost OR EXISTS (
                SELECT 1
                FROM nodes AS n
                CROSS JOIN jobs AS j ON j.seq = n.job
                WHERE
                    n.flow = f.id
                    AND (j.state = 'failed' OR j.state = 'cancelled')
                    AND NOT EXISTS (SELECT 1 FROM edges AS e WHERE e.upstream = n.id)
            )
        )
    )
)
FROM json_each(:ids) AS asked
CROSS JOIN flows AS f ON f.id = asked.value;
