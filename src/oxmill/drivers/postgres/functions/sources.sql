-- Where a search looks: the jobs named by number or id, those with a field or tag, and those of
-- queues by state or that have ended. Each goes through the index that serves it; what is not asked
-- for is not looked at.
-- Result: seqs, in no order.
CREATE OR REPLACE FUNCTION oxmill.sources(
    seqs json, ids json, field_name text, field_value text, waiting json, scheduled json,
    running json, held json, ended json
) RETURNS SETOF bigint
LANGUAGE plpgsql STABLE ROWS 100
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
BEGIN
    RETURN QUERY SELECT asked.value::bigint FROM json_array_elements_text(seqs) AS asked (value);
    RETURN QUERY
    SELECT j.seq FROM json_array_elements_text(ids) AS asked (value)
    JOIN oxmill.jobs AS j ON j.id = asked.value;
    IF field_name IS NOT NULL THEN
        RETURN QUERY
        SELECT f.job FROM oxmill.fields AS f WHERE f.name = field_name AND f.value = field_value;
    END IF;
    IF json_array_length(waiting) > 0 THEN
        RETURN QUERY
        SELECT j.seq FROM json_array_elements_text(waiting) AS asked (value)
        JOIN oxmill.jobs AS j
            ON j.state = 'waiting' AND j.group_name IS NULL AND j.aside IS NULL
            AND j.queue = asked.value;
        RETURN QUERY
        SELECT j.seq FROM json_array_elements_text(waiting) AS asked (value)
        JOIN oxmill.jobs AS j
            ON j.state = 'waiting' AND coalesce(j.group_name, j.aside) IS NOT NULL
            AND j.queue = asked.value;
    END IF;
    IF json_array_length(scheduled) > 0 THEN
        RETURN QUERY
        SELECT j.seq FROM json_array_elements_text(scheduled) AS asked (value)
        JOIN oxmill.jobs AS j ON j.state = 'scheduled' AND j.queue = asked.value;
    END IF;
    IF json_array_length(running) > 0 THEN
        RETURN QUERY
        SELECT j.seq FROM json_array_elements_text(running) AS asked (value)
        JOIN oxmill.jobs AS j ON j.lease_until IS NOT NULL AND j.queue = asked.value;
    END IF;
    IF json_array_length(held) > 0 THEN
        RETURN QUERY
        SELECT j.seq FROM json_array_elements_text(held) AS asked (value)
        JOIN oxmill.jobs AS j ON j.state = 'held' AND j.queue = asked.value;
    END IF;
    IF json_array_length(ended) > 0 THEN
        RETURN QUERY
        SELECT j.seq FROM json_array_elements_text(ended) AS asked (value)
        JOIN oxmill.jobs AS j
            ON j.state = asked.value AND j.state IN ('succeeded', 'failed', 'cancelled');
    END IF;
END
$$;
