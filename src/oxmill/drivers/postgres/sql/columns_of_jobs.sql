-- The columns of the table of jobs.
-- Parameters: none.
-- Result: name, the type in which it shows a field, or NULL if it shows none.
SELECT
    a.attname::text,
    CASE
        WHEN a.attgenerated = '' THEN NULL
        WHEN a.atttypid = 'text'::regtype THEN 'text'
        ELSE 'integer'
    END
FROM pg_attribute AS a
WHERE a.attrelid = 'oxmill.jobs'::regclass AND a.attnum > 0 AND NOT a.attisdropped;
