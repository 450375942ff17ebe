-- Unique keys are locked, whether anyone holds them or not: who asks for the same key waits.
-- Parameters: the name.
INSERT INTO oxmill_unique_keys (name, holder, live, hold_until) VALUES (:name, '', 0, 0)
ON DUPLICATE KEY UPDATE name = VALUES(name);
