-- A column that shows a field of jobs as a number. `extra_column` stands for its name.
-- Parameters: none.
ALTER TABLE oxmill.jobs ADD COLUMN "extra_column" bigint GENERATED ALWAYS AS (
    CASE
        WHEN json_typeof(extras::json -> 'fields' -> 'extra_column') = 'number'
            THEN (extras::json -> 'fields' ->> 'extra_column')::bigint
    END
) STORED;
