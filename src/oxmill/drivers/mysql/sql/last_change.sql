-- What was written last, as far as it is committed: it differs after any job came, went or changed
-- its state. Both numbers are needed, because what was numbered first may be committed last.
-- Result: how often something was asked of workers, or NULL; the number of changes, the highest one or NULL.
SELECT (SELECT number FROM oxmill_turns WHERE name = 'control'), COUNT(*), MAX(number) FROM oxmill_changes;
