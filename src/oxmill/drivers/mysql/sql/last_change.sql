-- What was written last, as far as it is committed: it differs after any job came, went or changed
-- its state. Both numbers are needed, because what was numbered first may be committed last.
-- Result: the number of changes, the highest one or NULL, whether something is left to sweep.
SELECT COUNT(*), MAX(number), EXISTS (SELECT 1 FROM oxmill_ripples) FROM oxmill_changes;
