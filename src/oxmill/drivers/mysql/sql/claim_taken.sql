-- How many jobs were just granted, and what frees their keys, if anybody uses unique keys at all: even an
-- UPDATE that joins and finds nothing makes a temporary table.
-- Parameters: words, the text of `claim_free_keys`.
SET
    @oxmill_many = IF(@oxmill_chosen IS NULL, 0, ROW_COUNT()),
    @oxmill_words = IF(EXISTS (SELECT 1 FROM oxmill_unique_keys AS k), :words, 'DO 0');
