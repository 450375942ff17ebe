-- Jobs are parts of their flows no longer.
-- Parameters: seqs, a JSON array.
DELETE FROM oxmill_nodes WHERE job IN (:seqs*);
