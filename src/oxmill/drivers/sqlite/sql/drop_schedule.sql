-- A schedule goes, if it is there.
-- Parameters: name.
-- Result: the name.
DELETE FROM schedules WHERE name = :name RETURNING name;
