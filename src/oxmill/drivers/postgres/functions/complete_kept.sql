-- What `complete_jobs` does about jobs that are kept for a while. `special` if any queue has settings.
-- The next claim is told of groups of which jobs run no longer.
-- Result: as that of `complete_jobs`, with the group.
CREATE OR REPLACE FUNCTION oxmill.complete_kept(
    ids text[], attempts integer[], nonces bigint[], results bytea[], usual bigint,
    special boolean, moment bigint
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
        FROM unnest(ids, attempts, nonces, results) WITH ORDINALITY
            AS a (id, attempt, nonce, result, number)
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
    ), freed AS (
        INSERT INTO oxmill.lane_news (queue, freed)
        SELECT d.queue, array_agg(DISTINCT d.group_name) FROM done AS d
        WHERE d.group_name IS NOT NULL
        GROUP BY d.queue
    ), counted AS (
        INSERT INTO oxmill.count_changes (queue, name, n, total)
        SELECT d.queue, s.name, s.sign * count(*), s.ends * count(*)
        FROM done AS d
        CROSS JOIN (VALUES ('running', -1, 0), ('succeeded', 1, 1)) AS s (name, sign, ends)
        GROUP BY d.queue, s.name, s.sign, s.ends
    )
    SELECT d.number, d.queue, true, d.group_name FROM done AS d;
END
$$;
