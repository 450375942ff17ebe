-- A schedule is paused or resumed, if it was not; resuming clears its next tick.
-- Parameters: name, paused.
-- Result: the name.
UPDATE schedules SET
    paused = :paused,
    next_at = CASE WHEN :paused THEN next_at END
WHERE name = :name AND paused <> :paused
RETURNING name;
