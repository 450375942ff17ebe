-- No claim looks at rules on anything but queues before this transaction has ended.
SELECT pg_advisory_xact_lock(hashtext('oxmill.rules'), 0);
