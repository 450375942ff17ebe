-- Jobs go: what they waited for is forgotten.
-- Parameters: seqs, a JSON array.
DELETE FROM oxmill_edges WHERE dependent IN (:seqs*);
