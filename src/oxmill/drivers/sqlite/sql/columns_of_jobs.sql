-- The columns of the table of jobs; those that show a field have a trigger that fills them.
-- Parameters: none.
-- Result: name, whether it shows a field.
SELECT
    c.name,
    EXISTS (
        SELECT 1 FROM sqlite_schema AS s
        WHERE s.type = 'trigger' AND s.name = c.name || '_added'
    )
FROM pragma_table_info('jobs') AS c;
