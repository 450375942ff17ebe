-- A column that shows a field of jobs. `extra_column` stands for its name, `extra_type` for its type.
-- Parameters: none.
ALTER TABLE jobs ADD COLUMN "extra_column" extra_type;
