-- A column that shows a field of jobs as a number. `extra_column` stands for its name.
-- Parameters: none.
ALTER TABLE oxmill_jobs ADD COLUMN `extra_column` BIGINT AS (
    CASE JSON_TYPE(JSON_EXTRACT(extras, '$.fields.extra_column'))
        WHEN 'INTEGER' THEN JSON_UNQUOTE(JSON_EXTRACT(extras, '$.fields.extra_column')) + 0
    END
) VIRTUAL;
