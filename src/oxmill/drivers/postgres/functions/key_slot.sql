-- Which of the locks guards a unique key. A thousand of them serve all keys, so that a large batch
-- does not fill the server's table of locks.
CREATE OR REPLACE FUNCTION oxmill.key_slot(key text) RETURNS integer
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$ SELECT hashtext(key) & 1023 $$;
