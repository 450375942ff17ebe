-- A unique key is held as given from now on.
-- Parameters: key, holder, live, hold_until, successor, in this order.
INSERT OR REPLACE INTO unique_keys (key, holder, live, hold_until, successor)
VALUES (:key, :holder, :live, :hold_until, :successor);
