-- Jobs go: what they waited for is forgotten.
-- Parameters: seqs, a JSON array.
DELETE FROM edges WHERE dependent IN (SELECT value FROM json_each(:seqs));
