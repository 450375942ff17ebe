-- Jobs go. Their history, fields and keys are seen to by the caller.
-- Parameters: seqs, a JSON array.
DELETE FROM jobs WHERE seq IN (SELECT value FROM json_each(:seqs));
