-- When to look again at a gate behind which jobs of a queue are set aside.
-- Parameters: gate, queue, opens_at, in this order.
INSERT OR REPLACE INTO asides (gate, queue, opens_at) VALUES (:gate, :queue, :opens_at);
