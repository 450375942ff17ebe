-- Whether a claim may take a job with this key: it needs the key's lock if it is to free it.
CREATE OR REPLACE FUNCTION oxmill.free_to_start(key text, extras text, keyed text[])
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT coalesce(extras, '') NOT LIKE '%"until":"started"%' OR coalesce(key = ANY (keyed), false) $$;
