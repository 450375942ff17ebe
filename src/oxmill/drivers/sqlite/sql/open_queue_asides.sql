-- All that is set aside in a queue is looked at by the next claim.
-- Parameters: queue.
UPDATE asides SET opens_at = 0 WHERE queue = :queue;
