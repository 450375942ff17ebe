-- Jobs that are about to be claimed give back the keys that they held only until they started; `within`
-- and a successor may still hold them. The caller has the keys' locks.
CREATE OR REPLACE FUNCTION oxmill.free_started(taken tid[], keyed text[], moment bigint)
RETURNS void
LANGUAGE sql VOLATILE
AS $$
    WITH started AS (
        SELECT j.unique_key AS key, j.id FROM oxmill.jobs AS j
        WHERE
            j.ctid = ANY (taken) AND j.unique_key = ANY (keyed)
            AND j.extras LIKE '%"until":"started"%'
    ), freed AS (
        DELETE FROM oxmill.unique_keys AS k USING started AS s
        WHERE
            k.key = s.key AND k.holder = s.id AND k.successor IS NULL
            AND (k.hold_until IS NULL OR k.hold_until <= moment)
    )
    UPDATE oxmill.unique_keys AS k SET live = 0 FROM started AS s
    WHERE
        k.key = s.key AND k.holder = s.id
        AND NOT (k.successor IS NULL AND (k.hold_until IS NULL OR k.hold_until <= moment))
$$;
