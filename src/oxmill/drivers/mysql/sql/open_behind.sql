-- Lanes that stand behind a gate of a job open; the next claim looks again.
UPDATE oxmill_lanes FORCE INDEX (oxmill_lanes_behind) SET opens_at = 0, behind = NULL
WHERE behind > '';
