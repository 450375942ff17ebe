-- Flows that go on have one live job less each.
-- Parameters: seqs, a JSON array.
UPDATE flows SET live = live - 1
WHERE seq IN (SELECT value FROM json_each(:seqs));
