-- A new column shows the field of jobs that are there. Functions on JSON are not allowed in schemas
-- that are not trusted, so columns are filled from the table of fields.
-- Parameters: none.
UPDATE jobs SET "extra_column" = f.value
FROM fields AS f
WHERE f.name = 'extra_column' AND f.job = jobs.seq AND typeof(f.value) = 'extra_type';
