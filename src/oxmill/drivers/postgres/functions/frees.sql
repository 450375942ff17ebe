-- Whether others of a queue may start because a job of it, of this group if it has one, runs no longer.
CREATE OR REPLACE FUNCTION oxmill.frees(of_queue text, of_group text) RETURNS boolean
LANGUAGE sql STABLE
AS $$
    SELECT coalesce(
        (
            SELECT s.limits & CASE WHEN of_group IS NULL THEN 2 ELSE 6 END > 0
            FROM oxmill.queue_settings AS s
            WHERE s.queue = of_queue
        ),
        false
    )
$$;
