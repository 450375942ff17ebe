-- Jobs by a column that shows a field. `extra_column` stands for its name.
-- Parameters: none.
CREATE INDEX IF NOT EXISTS "jobs_extra_column" ON oxmill.jobs ("extra_column")
    WHERE "extra_column" IS NOT NULL;
