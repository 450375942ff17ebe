-- The columns of the table of jobs.
-- Parameters: none.
-- Result: name, whether it is generated.
SELECT a.attname::text, a.attgenerated <> '' FROM pg_attribute AS a
WHERE a.attrelid = 'oxmill.jobs'::regclass AND a.attnum > 0 AND NOT a.attisdropped;
