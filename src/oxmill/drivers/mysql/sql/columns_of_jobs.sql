-- The columns of the table of jobs, whether each is generated, and whether it has its index.
-- Parameters: none.
SELECT
    c.COLUMN_NAME,
    c.GENERATION_EXPRESSION IS NOT NULL AND c.GENERATION_EXPRESSION <> '',
    EXISTS (
        SELECT 1 FROM information_schema.STATISTICS AS s
        WHERE
            s.TABLE_SCHEMA = DATABASE() AND s.TABLE_NAME = 'oxmill_jobs'
            AND s.INDEX_NAME = CONCAT('oxmill_jobs_', c.COLUMN_NAME)
    )
FROM information_schema.COLUMNS AS c
WHERE c.TABLE_SCHEMA = DATABASE() AND c.TABLE_NAME = 'oxmill_jobs';
