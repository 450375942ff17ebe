-- Draws `n` numbers of arrival or places in line, never drawn before.
-- Parameters: n, how many.
-- Result: the last number drawn.
UPDATE counters SET n = n + :n WHERE name = 'seq' RETURNING n;
