-- A column that shows a field of jobs as text. `extra_column` stands for its name.
-- Parameters: none.
ALTER TABLE oxmill.jobs ADD COLUMN "extra_column" text COLLATE "C" GENERATED ALWAYS AS (
    CASE
        WHEN json_typeof(extras::json -> 'fields' -> 'extra_column') = 'string'
            THEN extras::json -> 'fields' ->> 'extra_column'
    END
) STORED;
