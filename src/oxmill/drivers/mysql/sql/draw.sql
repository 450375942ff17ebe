-- Draws a number that nobody else has.
-- Result: the number, as the id of the last insert.
INSERT INTO oxmill_changes (queue) VALUES ('');
