-- The moment of a shortcut, and that nothing has come in its way yet.
-- Parameters: now.
SET @oxmill_now = :now, @oxmill_ready = 1;
