-- Jobs are parts of their flows no longer.
-- Parameters: seqs, a JSON array.
DELETE FROM nodes WHERE job IN (SELECT value FROM json_each(:seqs));
