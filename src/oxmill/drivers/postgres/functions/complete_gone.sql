-- What `complete_jobs` does about jobs that are not to be kept: they go at once. Those with a history or
-- with fields are left to the caller, since more than a row must go.
-- The next claim is told of groups of which jobs run no longer.
-- Result: as that of `complete_jobs`, with the group.
CREATE OR REPLACE FUNCTION oxmill.complete_gone(
    ids text[], attempts integer[], nonces bigint[], usual bigint, special boolean
) RETURNS TABLE (item integer, of_queue text, kept boolean, of_group text)
LANGUAGE plpgsql VOLATILE
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
BEGIN
    RETURN QUERY
    WITH done AS (
        DELETE FROM oxmill.jobs AS j
        USING unnest(ids, attempts, nonces) WITH ORDINALITY AS a (id, attempt, nonce, number)
        WHERE
            j.id = a.id AND j.state = 'running' AND j.unique_key IS NULL
            AND j.attempt = a.attempt AND j.nonce = a.nonce
            AND j.attempt = 1 AND j.extras IS NULL
            AND coalesce(
                j.keep,
                CASE WHEN special THEN (
                    SELECT s.keep_succeeded FROM oxmill.queue_settings AS s
                    WHERE s.queue = j.queue
                ) END,
                usual
            ) = 0
        RETURNING a.number::integer AS number, j.queue, j.group_name
    ), freed AS (
        INSERT INTO oxmill.lane_news (queue, freed)
        SELECT d.queue, array_agg(DISTINCT d.group_name) FROM done AS d
        WHERE d.group_name IS NOT NULL
        GROUP BY d.queue
    ), counted AS (
        INSERT INTO oxmill.count_changes (queue, name, n, total)
        SELECT d.queue, s.name, s.sign * count(*), s.ends * count(*)
        FROM done AS d
        CROSS JOIN (VALUES ('running', -1, 0), ('succeeded', 0, 1)) AS s (name, sign, ends)
        GROUP BY d.queue, s.name, s.sign, s.ends
    )
    SELECT d.number, d.queue, false, d.group_name FROM done AS d;
END
$$;
