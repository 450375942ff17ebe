-- Redriven jobs: who has not learnt of their last end waits for the next one.
-- Parameters: ids, a JSON array.
DELETE FROM ripples
WHERE target IN (SELECT value FROM json_each(:ids)) AND kind = 'close';
