-- A schedule is paused or resumed, if it was not; resuming clears its next tick.
-- Parameters: name, paused.
-- Result: the name.
UPDATE oxmill.schedules SET
    paused = :paused::integer,
    next_at = CASE WHEN :paused::integer = 1 THEN next_at END
WHERE name = :name::text AND paused <> :paused::integer
RETURNING name;
