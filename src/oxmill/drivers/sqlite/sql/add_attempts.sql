-- Records how an attempt ended; a later end of the same attempt replaces it.
-- Parameters: the columns, in this order.
INSERT OR REPLACE INTO attempts (job, attempt, worker, claimed_at, ended_at, outcome, error)
VALUES (:job, :attempt, :worker, :claimed_at, :ended_at, :outcome, :error);
