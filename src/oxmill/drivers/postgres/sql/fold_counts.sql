-- Adds up what was added to `count_changes`, a good deal at a time. One does it at a time; whoever
-- comes second leaves it to the first.
-- Parameters: most.
WITH turn AS MATERIALIZED (
    SELECT pg_try_advisory_xact_lock(hashtext('oxmill.fold')) AS mine
), gone AS (
    DELETE FROM oxmill.count_changes
    WHERE ctid = ANY (ARRAY(
        SELECT c.ctid FROM oxmill.count_changes AS c, turn WHERE turn.mine LIMIT :most::bigint
    ))
    RETURNING queue, name, n, total
)
INSERT INTO oxmill.counts (queue, name, n, total)
SELECT queue, name, sum(n), sum(total)
FROM gone
GROUP BY queue, name
ORDER BY queue, name
ON CONFLICT (queue, name) DO UPDATE SET
    n = counts.n + excluded.n,
    total = counts.total + excluded.total;
