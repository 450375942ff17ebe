-- Whether a schedule is there, and can be paused or resumed.
-- Parameters: name; paused, or NULL if that does not matter.
-- Result: the name.
SELECT name
FROM oxmill_schedules
WHERE name = :name AND (:paused IS NULL OR paused <> :paused)
FOR UPDATE;
