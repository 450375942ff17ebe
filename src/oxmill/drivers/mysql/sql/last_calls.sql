-- What a change may mean to others than those who wait for jobs.
-- Result: how often something was asked of workers, or NULL; whether something is left to sweep.
SELECT
    (SELECT number FROM oxmill_turns WHERE name = 'control'),
    EXISTS (SELECT 1 FROM oxmill_ripples);
