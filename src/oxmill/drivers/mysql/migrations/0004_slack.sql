-- A row that gets longer does not fit into its place on the page: the server packs the whole page anew and
-- logs it, for about every fourth job that is claimed, and splits the page in the end. So a new job brings
-- along as many bytes that mean nothing as its claim and its end are going to write.
SET @oxmill_change = IF(
    (
        SELECT COUNT(*) FROM information_schema.columns
        WHERE
            table_schema = DATABASE() AND table_name = 'oxmill_jobs' AND column_name = 'slack'
    ) = 0,
    'ALTER TABLE oxmill_jobs ADD COLUMN slack VARBINARY(100)',
    'DO 0'
);

PREPARE oxmill_change FROM @oxmill_change;

EXECUTE oxmill_change;

DEALLOCATE PREPARE oxmill_change;
