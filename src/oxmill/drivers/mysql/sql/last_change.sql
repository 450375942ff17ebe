-- What was written last, as far as it is committed: it differs after any job came, went or changed
-- its state, and after something was asked of workers. Both numbers are needed, because
-- what was numbered first may be committed last.
-- Result: the number of changes, the highest one or NULL.
SELECT COUNT(*), MAX(number) FROM oxmill_changes;
