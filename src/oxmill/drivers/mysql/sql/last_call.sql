-- How often something was asked of workers.
-- Result: a number; nothing, if it never was.
SELECT number FROM oxmill_turns WHERE name = 'control';
