-- The changes that can be added up now: those whose transactions are done.
-- Parameters: most.
-- Result: number.
SELECT number FROM oxmill_changes ORDER BY number LIMIT :most FOR UPDATE SKIP LOCKED;
