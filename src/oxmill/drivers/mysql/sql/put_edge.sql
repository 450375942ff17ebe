-- An edge is like this from now on; it takes the place of one between the same jobs.
-- Parameters: the columns, in this order.
INSERT INTO oxmill_edges (upstream, dependent, `round`, position, ok)
VALUES (:upstream, :dependent, :round, :position, :ok)
ON DUPLICATE KEY UPDATE
    `round` = VALUES(`round`),
    position = VALUES(position),
    ok = VALUES(ok);
