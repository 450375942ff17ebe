-- A column that shows a field of jobs as text. `extra_column` stands for its name.
-- Parameters: none.
ALTER TABLE oxmill_jobs ADD COLUMN `extra_column` VARCHAR(1000)
    CHARACTER SET utf8mb4 COLLATE utf8mb4_bin AS (
        CASE JSON_TYPE(JSON_EXTRACT(extras, '$.fields.extra_column'))
            WHEN 'STRING' THEN JSON_UNQUOTE(JSON_EXTRACT(extras, '$.fields.extra_column'))
        END
    ) VIRTUAL;
