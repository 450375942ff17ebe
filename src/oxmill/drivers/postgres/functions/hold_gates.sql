-- Nobody else claims from these queues behind their gates before this transaction has ended, and no
-- rule on anything but queues changes. Locks are taken in one order by everybody.
CREATE OR REPLACE FUNCTION oxmill.hold_gates(wanted text[]) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(hashtext('oxmill.rules'), 0);
    PERFORM pg_advisory_xact_lock(hashtext('oxmill.gates'), ordered.slot)
    FROM (SELECT DISTINCT hashtext(q.name) AS slot FROM unnest(wanted) AS q (name) ORDER BY slot) AS ordered;
END
$$;
