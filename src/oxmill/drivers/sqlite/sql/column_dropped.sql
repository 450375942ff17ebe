-- A job that loses a field shows none.
-- Parameters: none.
CREATE TRIGGER "extra_column_dropped" AFTER DELETE ON fields WHEN old.name = 'extra_column'
BEGIN
    UPDATE jobs SET "extra_column" = NULL WHERE seq = old.job;
END;
