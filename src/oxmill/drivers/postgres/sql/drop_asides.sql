-- Nothing of these queues is set aside behind these gates any more.
-- Parameters: arrays of gate and queue, in this order.
DELETE FROM oxmill.asides AS a
USING unnest(:gate::text[], :queue::text[]) AS r (gate, queue)
WHERE a.gate = r.gate AND a.queue = r.queue;
