-- Nobody else uses the meters of throttles, which are not about one queue, before this transaction has
-- ended. It comes after the locks on gates.
SELECT pg_advisory_xact_lock(hashtext('oxmill.throttles'), 0);
