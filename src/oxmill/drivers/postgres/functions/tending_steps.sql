-- How many entries this transaction has read in the indexes that tell what a queue needs.
CREATE OR REPLACE FUNCTION oxmill.tending_steps() RETURNS bigint
LANGUAGE sql STABLE
AS $$
    SELECT
        pg_stat_get_xact_tuples_returned('oxmill.jobs_lease'::regclass)
        + pg_stat_get_xact_tuples_returned('oxmill.jobs_due'::regclass)
        + pg_stat_get_xact_tuples_returned('oxmill.jobs_expiry'::regclass)
$$;
