-- What comes next in one queue, as the claim has found it.
-- Parameters: place.
-- Result: now, ready, closed, due_at, lease_until.
SELECT
    @oxmill_now, @oxmill_ready, @oxmill_closed_:place, @oxmill_due_:place, @oxmill_lease_:place;
