-- A gate that is shut until this very moment opens. Who has shut it alone, and is gone or due, shuts it
-- no longer; see shut_gates.
-- Parameters: queue, scope, target, closed_until, in this order.
UPDATE oxmill_meters SET closed_until = 0
WHERE
    queue = :queue AND scope = :scope AND target = :target
    AND closed_until = :closed_until;
