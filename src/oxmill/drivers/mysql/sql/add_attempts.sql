-- Records how an attempt ended; a later end of the same attempt replaces it.
-- Parameters: the columns, in this order.
REPLACE INTO oxmill_attempts (job, attempt, worker, claimed_at, ended_at, outcome, error)
VALUES (:job, :attempt, :worker, :claimed_at, :ended_at, :outcome, :error);
