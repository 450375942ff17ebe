-- A schedule goes, if it is there.
-- Parameters: name.
DELETE FROM oxmill_schedules WHERE name = :name;
