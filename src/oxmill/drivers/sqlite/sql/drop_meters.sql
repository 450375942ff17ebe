-- What was spent of a throttle is forgotten.
-- Parameters: queue, scope, target, in this order.
DELETE FROM meters WHERE queue = :queue AND scope = :scope AND target = :target;
