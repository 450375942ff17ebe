-- How many entries this transaction has read in the indexes that tell what a queue needs. In this language
-- it is planned once; each claim asks twice.
CREATE OR REPLACE FUNCTION oxmill.tending_steps() RETURNS bigint
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    RETURN
        pg_stat_get_xact_tuples_returned('oxmill.jobs_lease'::regclass)
        + pg_stat_get_xact_tuples_returned('oxmill.jobs_due'::regclass)
        + pg_stat_get_xact_tuples_returned('oxmill.jobs_expiry'::regclass);
END
$$;
