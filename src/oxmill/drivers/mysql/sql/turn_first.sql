-- Where the numbers of the lanes that gave a job begin: the row that has just counted the jobs is the store's
-- counter, and stands for enough of them.
-- Parameters: block, how many numbers a row stands for.
SET @oxmill_turn = LAST_INSERT_ID() * :block, @oxmill_first = LAST_INSERT_ID() * :block;
