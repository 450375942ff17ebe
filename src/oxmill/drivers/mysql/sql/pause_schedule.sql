-- A schedule is paused or resumed, if it was not; resuming clears its next tick.
-- Parameters: name, paused.
UPDATE oxmill_schedules SET
    next_at = CASE WHEN :paused THEN next_at END,
    paused = :paused
WHERE name = :name AND paused <> :paused;
