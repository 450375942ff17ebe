-- A job that is given a field shows it in the column of that name, if it is of its type.
-- Parameters: none.
CREATE TRIGGER "extra_column_added" AFTER INSERT ON fields
WHEN new.name = 'extra_column' AND typeof(new.value) = 'extra_type'
BEGIN
    UPDATE jobs SET "extra_column" = new.value WHERE seq = new.job;
END;
