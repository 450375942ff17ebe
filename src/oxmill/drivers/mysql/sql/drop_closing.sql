-- Redriven jobs: who has not learnt of their last end waits for the next one.
-- Parameters: ids, a JSON array.
DELETE FROM oxmill_ripples WHERE target IN (:ids*) AND kind = 'close';
