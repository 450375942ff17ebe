-- Nothing may be granted if there is something to see to first, or a gate to look at.
-- Parameters: place; never, later than any moment.
SET @oxmill_ready = @oxmill_ready AND NOT @oxmill_gated_:place AND LEAST(
    COALESCE(@oxmill_due_:place, :never),
    COALESCE(@oxmill_lease_:place, :never),
    COALESCE(@oxmill_expiry_:place, :never)
) > @oxmill_now;
