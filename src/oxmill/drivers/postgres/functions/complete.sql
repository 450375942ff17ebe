-- Running jobs succeed whose token is right and whose end concerns nobody else: no unique key is
-- given back. Everything else is left to the caller. `usual` is the retention of queues without
-- settings. Jobs not to be kept are deleted, unless they have a history or fields.
-- Result: the number of each item that was settled, counted from 1, and the queue of its job.
CREATE OR REPLACE FUNCTION oxmill.complete(
    ids text[], attempts integer[], nonces bigint[], results bytea[], usual bigint, at bigint
) RETURNS TABLE (item integer, of_queue text)
LANGUAGE plpgsql VOLATILE
SET jit = off
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
    moment bigint := coalesce(at, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
    settled integer;
    special boolean := EXISTS (SELECT 1 FROM oxmill.queue_settings);
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
        RETURNING a.number::integer AS number, j.queue
    ), counted AS (
        INSERT INTO oxmill.count_changes (queue, name, n, total)
        SELECT d.queue, s.name, s.sign * count(*), s.ends * count(*)
        FROM done AS d
        CROSS JOIN (VALUES ('running', -1, 0), ('succeeded', 1, 1)) AS s (name, sign, ends)
        GROUP BY d.queue, s.name, s.sign, s.ends
    )
    SELECT d.number, d.queue FROM done AS d;
    GET DIAGNOSTICS settled = ROW_COUNT;
    IF settled < cardinality(ids) THEN
        RETURN QUERY SELECT * FROM oxmill.complete_and_delete(ids, attempts, nonces, usual);
    END IF;
END
$$;
