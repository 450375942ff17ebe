-- Nothing of this queue is set aside behind the gate any more.
-- Parameters: gate, queue, in this order.
DELETE FROM oxmill_asides WHERE gate = :gate AND queue = :queue;
