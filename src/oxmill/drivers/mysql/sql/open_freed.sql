-- The lanes of some groups of a queue open; this claim looks again.
-- Parameters: queue; groups, a JSON array.
UPDATE oxmill_lanes FORCE INDEX (PRIMARY) SET opens_at = 0, behind = NULL
WHERE group_name IN (:groups*) AND queue = :queue AND opens_at > 0;
