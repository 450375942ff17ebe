-- Jobs by a column that shows a field. `extra_column` stands for its name, `extra_length` for how much
-- of it is in the index.
-- Parameters: none.
CREATE INDEX `oxmill_jobs_extra_column` ON oxmill_jobs (`extra_column`extra_length);
