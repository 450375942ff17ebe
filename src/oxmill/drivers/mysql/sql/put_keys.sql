-- A unique key is held as given from now on.
-- Parameters: key, holder, live, hold_until, successor, in this order.
INSERT INTO oxmill_unique_keys (name, holder, live, hold_until, successor)
VALUES (:name, :holder, :live, :hold_until, :successor)
ON DUPLICATE KEY UPDATE
    holder = VALUES(holder),
    live = VALUES(live),
    hold_until = VALUES(hold_until),
    successor = VALUES(successor);
