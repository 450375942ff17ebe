-- A schedule goes, if it is there.
-- Parameters: name.
-- Result: the name.
DELETE FROM oxmill.schedules WHERE name = :name::text RETURNING name;
