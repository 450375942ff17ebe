-- What `complete_batch` does about jobs that are kept for a while. `special` if any queue has settings.
-- The next claim is told of groups of which jobs run no longer.
-- The limit changes nothing but the planner's mind: it then thinks of one item, not of ten, for which
-- it would rather look through all jobs while the table is small, and go on so when it has grown.
-- Result: one row per queue, and apart for jobs of groups: the numbers of its items, in no order.
CREATE OR REPLACE FUNCTION oxmill.end_kept(
    ids text[], attempts integer[], nonces bigint[], results bytea[], usual bigint,
    special boolean, moment bigint
) RETURNS TABLE (of_queue text, grouped boolean, items integer[])
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    RETURN QUERY
    WITH done AS (
        UPDATE oxmill.jobs AS j SET
            state = 'succeeded',
            reason = NULL,
            last_outcome = 'complete',
            lease_until = NULL,
            result = a.result,
            ended_at = moment,
            prune_at = moment + coalesce(
                j.keep,
                CASE WHEN special THEN (
                    SELECT s.keep_succeeded FROM oxmill.queue_settings AS s
                    WHERE s.queue = j.queue
                ) END,
                usual
            )
        FROM (
            SELECT u.id, u.attempt, u.nonce, u.result, u.number
            FROM unnest(ids, attempts, nonces, results) WITH ORDINALITY
                AS u (id, attempt, nonce, result, number)
            LIMIT cardinality(ids)
        ) AS a
        WHERE
            j.id = a.id AND j.state = 'running' AND j.unique_key IS NULL
            AND j.attempt = a.attempt AND j.nonce = a.nonce
            AND coalesce(
                j.keep,
                CASE WHEN special THEN (
                    SELECT s.keep_succeeded FROM oxmill.queue_settings AS s
                    WHERE s.queue = j.queue
                ) END,
                usual
            ) > 0
        RETURNING a.number::integer AS number, j.queue, j.group_name
    ), sums AS MATERIALIZED (
        SELECT
            d.queue, d.group_name IS NOT NULL AS grouped, array_agg(d.number) AS items,
            count(*) AS n
        FROM done AS d
        GROUP BY d.queue, d.group_name IS NOT NULL
    ), freed AS (
        INSERT INTO oxmill.lane_news (queue, freed)
        SELECT d.queue, array_agg(DISTINCT d.group_name) FROM done AS d
        WHERE d.group_name IS NOT NULL
        GROUP BY d.queue
    ), counted AS (
        INSERT INTO oxmill.count_changes (queue, name, n, total)
        SELECT s.queue, c.name, c.sign * s.n, c.ends * s.n
        FROM sums AS s
        CROSS JOIN (VALUES ('running', -1, 0), ('succeeded', 1, 1)) AS c (name, sign, ends)
    )
    SELECT s.queue, s.grouped, s.items FROM sums AS s;
END
$$;
