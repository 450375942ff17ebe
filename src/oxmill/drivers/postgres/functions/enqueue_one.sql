-- What `enqueue` does, for a single job without labels: most jobs come alone.
-- Result: now.
CREATE OR REPLACE FUNCTION oxmill.enqueue_one(
    id text, payload bytea, extras text, queue text, task text, priority integer, delay bigint,
    run_at bigint, expiry bigint, attempts integer, crashes integer, keep bigint, group_name text,
    at bigint
) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    now bigint := coalesce(at, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
    number bigint := nextval('oxmill.numbers');
    due_at bigint := coalesce(run_at, now + delay);
    state text := CASE WHEN due_at > now THEN 'scheduled' ELSE 'waiting' END;
BEGIN
    INSERT INTO oxmill.jobs (
        seq, place, id, enqueued_at, queue, task, state, priority, due_at, expires_at,
        max_attempts, crash_limit, keep, group_name, extras, payload
    )
    VALUES (
        number, number, id, now, queue, task, state, priority, due_at, now + expiry, attempts,
        crashes, keep, group_name, extras, payload
    );
    INSERT INTO oxmill.count_changes (queue, name, n, total) VALUES (queue, state, 1, 0);
    IF group_name IS NOT NULL AND state = 'waiting' THEN
        PERFORM oxmill.join_lanes(ARRAY[group_name], ARRAY[queue], ARRAY[priority], ARRAY[number]);
    END IF;
    RETURN now;
END
$$;
