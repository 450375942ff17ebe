-- Counts jobs that are about to be claimed from these queues.
CREATE OR REPLACE FUNCTION oxmill.count_started(opened text[], taken tid[]) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    n bigint := cardinality(taken);
BEGIN
    IF cardinality(opened) = 1 THEN
        INSERT INTO oxmill.count_changes (queue, name, n, total)
        VALUES (opened[1], 'waiting', -n, 0), (opened[1], 'running', n, 0);
    ELSE
        INSERT INTO oxmill.count_changes (queue, name, n, total)
        SELECT j.queue, s.name, s.sign * count(*), 0
        FROM oxmill.jobs AS j
        CROSS JOIN (VALUES ('waiting', -1), ('running', 1)) AS s (name, sign)
        WHERE j.ctid = ANY (taken)
        GROUP BY j.queue, s.name, s.sign;
    END IF;
END
$$;
