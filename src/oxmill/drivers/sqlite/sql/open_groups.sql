-- The lanes of these groups open, in whatever queue; the next claim looks again.
-- Parameters: groups, a JSON array.
UPDATE lanes SET opens_at = 0, behind = NULL
WHERE opens_at > 0 AND group_name IN (SELECT value FROM json_each(:groups));
