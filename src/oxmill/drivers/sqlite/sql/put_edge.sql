-- An edge is like this from now on; it takes the place of one between the same jobs.
-- Parameters: the columns, in this order.
INSERT OR REPLACE INTO edges (upstream, dependent, round, position, ok)
VALUES (:upstream, :dependent, :round, :position, :ok);
