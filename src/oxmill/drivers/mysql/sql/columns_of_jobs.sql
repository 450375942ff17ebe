-- The columns of the table of jobs, the type in which each shows a field, if it does, and whether it
-- has its index.
-- Parameters: none.
SELECT
    c.COLUMN_NAME,
    CASE
        WHEN c.GENERATION_EXPRESSION IS NULL OR c.GENERATION_EXPRESSION = '' THEN NULL
        WHEN c.DATA_TYPE = 'varchar' THEN 'text'
        ELSE 'integer'
    END,
    EXISTS (
        SELECT 1 FROM information_schema.STATISTICS AS s
        WHERE
            s.TABLE_SCHEMA = DATABASE() AND s.TABLE_NAME = 'oxmill_jobs'
            AND s.INDEX_NAME = CONCAT('oxmill_jobs_', c.COLUMN_NAME)
    )
FROM information_schema.COLUMNS AS c
WHERE c.TABLE_SCHEMA = DATABASE() AND c.TABLE_NAME = 'oxmill_jobs';
