-- The lanes of these groups open, in whatever queue; the next claim looks again.
-- Parameters: groups, a JSON array.
UPDATE oxmill_lanes FORCE INDEX (PRIMARY) SET opens_at = 0, behind = NULL
WHERE group_name IN (:groups*) AND opens_at > 0;
