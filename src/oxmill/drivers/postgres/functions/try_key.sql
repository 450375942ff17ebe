-- Lock a unique key until the end of the transaction, if nobody else has it: for those who hold the
-- lock on a job already and so may not wait.
CREATE OR REPLACE FUNCTION oxmill.try_key(key text) RETURNS boolean
LANGUAGE sql VOLATILE STRICT
AS $$ SELECT pg_try_advisory_xact_lock(hashtext('oxmill.keys'), oxmill.key_slot(key)) $$;
