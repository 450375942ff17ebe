-- The first queue after the one given that has jobs in this state: one leap through an index.
CREATE OR REPLACE FUNCTION oxmill.next_queue(wanted text, after text) RETURNS text
LANGUAGE plpgsql STABLE
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
DECLARE
    beyond text COLLATE "C" := coalesce(after, '');
    found text;
BEGIN
    CASE wanted
        WHEN 'waiting' THEN
            SELECT least(
                (
                    SELECT j.queue FROM oxmill.jobs AS j
                    WHERE
                        j.state = 'waiting' AND j.group_name IS NULL AND j.aside IS NULL
                        AND j.queue > beyond
                    ORDER BY j.queue LIMIT 1
                ),
                (
                    SELECT j.queue FROM oxmill.jobs AS j
                    WHERE
                        j.state = 'waiting' AND coalesce(j.group_name, j.aside) IS NOT NULL
                        AND j.queue > beyond
                    ORDER BY j.queue LIMIT 1
                )
            ) INTO found;
        WHEN 'scheduled' THEN
            SELECT j.queue INTO found FROM oxmill.jobs AS j
            WHERE j.state = 'scheduled' AND j.queue > beyond ORDER BY j.queue LIMIT 1;
        WHEN 'running' THEN
            SELECT j.queue INTO found FROM oxmill.jobs AS j
            WHERE j.lease_until IS NOT NULL AND j.queue > beyond ORDER BY j.queue LIMIT 1;
        WHEN 'held' THEN
            SELECT j.queue INTO found FROM oxmill.jobs AS j
            WHERE j.state = 'held' AND j.queue > beyond ORDER BY j.queue LIMIT 1;
    END CASE;
    RETURN found;
END
$$;
