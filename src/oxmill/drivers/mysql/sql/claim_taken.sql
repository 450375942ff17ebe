-- How many jobs were just granted, and whether anybody uses unique keys at all.
SET
    @oxmill_many = IF(@oxmill_chosen IS NULL, 0, ROW_COUNT()),
    @oxmill_keyed = EXISTS (SELECT 1 FROM oxmill_unique_keys AS k);
