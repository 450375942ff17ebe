-- What jobs that were just claimed read of the states of their flows, as their `extras` name it; also what
-- this transaction has written. If one of them cannot be read, nothing is told: the caller, who
-- knows how to mend it, asks again.
-- Result: flow, name, value; in no order.
CREATE OR REPLACE FUNCTION oxmill.fields_read(claimed text[])
RETURNS TABLE (of_flow text, of_name text, of_value bytea)
LANGUAGE plpgsql VOLATILE
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
    flows text[];
    names text[];
BEGIN
    BEGIN
        SELECT array_agg(e.flow), array_agg(r.name) INTO flows, names
        FROM unnest(claimed) AS c (extras)
        CROSS JOIN LATERAL json_to_record(c.extras::json) AS e (flow text, reads json)
        CROSS JOIN LATERAL json_array_elements_text(e.reads) AS r (name);
    EXCEPTION
        WHEN data_exception OR program_limit_exceeded THEN
            RETURN;
    END;
    RETURN QUERY
    SELECT s.flow, s.name, s.value
    FROM unnest(flows, names) AS a (flow, name)
    JOIN oxmill.flow_state AS s ON s.flow = a.flow AND s.name = a.name;
END
$$;
