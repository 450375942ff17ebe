-- The moment of a shortcut.
-- Result: microseconds since 1970.
SELECT @oxmill_now;
