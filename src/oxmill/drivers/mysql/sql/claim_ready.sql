-- Nothing may be granted if there is something to see to first, or a gate to look at.
-- Parameters: place.
SET @oxmill_ready = @oxmill_ready AND NOT @oxmill_gated_:place AND NOT @oxmill_overdue_:place;
