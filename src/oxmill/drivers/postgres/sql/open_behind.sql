-- Lanes that stand behind a gate of a job open; the next claim looks again.
UPDATE oxmill.lanes SET opens_at = 0, behind = NULL WHERE behind IS NOT NULL;
