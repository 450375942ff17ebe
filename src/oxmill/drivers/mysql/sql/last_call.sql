-- How often something was asked of workers, and whether something is left to sweep.
-- Result: a number, or NULL if it never was; 1 or 0.
SELECT
    (SELECT number FROM oxmill_turns WHERE name = 'control'),
    EXISTS (SELECT 1 FROM oxmill_ripples);
