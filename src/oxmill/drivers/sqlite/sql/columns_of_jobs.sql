-- The columns of the table of jobs; those that show a field have a trigger that fills them.
-- Parameters: none.
-- Result: name, the type in which it shows a field, or NULL if it shows none.
SELECT
    c.name,
    CASE
        WHEN EXISTS (
            SELECT 1 FROM sqlite_schema AS s
            WHERE s.type = 'trigger' AND s.name = c.name || '_added'
        ) THEN lower(c.type)
    END
FROM pragma_table_info('jobs') AS c;
