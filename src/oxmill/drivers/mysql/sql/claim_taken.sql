-- How many jobs were just granted.
SET @oxmill_many = ROW_COUNT();
