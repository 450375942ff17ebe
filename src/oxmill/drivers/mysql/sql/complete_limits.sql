-- The same limits again, which now do not change before this transaction has ended: so no claim can close
-- a lane because of jobs that end here without a word.
SET @oxmill_limits = (
    SELECT s.limits FROM oxmill_queue_settings AS s WHERE s.queue = @oxmill_queue LOCK IN SHARE MODE
);
